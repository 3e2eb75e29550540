"""A TLS handshake over gRPC between two identities, and what the server sees of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import grpc


class _WhoAreYou(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: context.auth_context()[
                "x509_subject_alternative_name"
            ][0]
        )


def meet(server, client):
    """Whom a gRPC server sees when a client calls it; both must show a certificate."""
    pair = [(server.key_pem, server.certificate_pem)]
    with ThreadPoolExecutor(1) as pool:
        host = grpc.server(pool)
        host.add_generic_rpc_handlers((_WhoAreYou(),))
        port = host.add_secure_port(
            "127.0.0.1:0",
            grpc.ssl_server_credentials(
                pair, server.authorities_pem, require_client_auth=True
            ),
        )
        host.start()
        credentials = grpc.ssl_channel_credentials(
            client.authorities_pem, client.key_pem, client.certificate_pem
        )
        named = [("grpc.ssl_target_name_override", server.name)]
        with grpc.secure_channel(f"127.0.0.1:{port}", credentials, named) as channel:
            seen = channel.unary_unary("/who/are-you")(b"", timeout=10)
        host.stop(None)
        return seen.decode()
