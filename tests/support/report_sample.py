"""A training's metrics as `result.json` holds them, without training."""

from __future__ import annotations

SCORES = {
    "n": 40,
    "accuracy": 0.825,
    "balanced_accuracy": 0.8,
    "log_loss": 0.41234,
    "calibration_error": 0.031,
    "calibration": [
        {"n": 10, "confidence": 0.6, "accuracy": 0.5},
        {"n": 30, "confidence": 0.95, "accuracy": 0.9},
    ],
}


def sample_result(classes=("a", "b", "c"), *, n_nodes=5, n_layers=3):
    """Metrics of a made-up training; every class is once taken for the next."""
    Q = len(classes)
    ring = [[i, i + 1] for i in range(n_nodes - 1)] + [[0, n_nodes - 1]]
    right = [[q, q, 10] for q in range(Q)]
    wrong = [[q, (q + 1) % Q, 1 + q % 3] for q in range(Q)]
    n_test = sum(entry[2] for entry in right + wrong)
    layers = [
        {
            "layer": layer,
            "cost": 100.0 / 3**layer,
            "train_error_db": -5.0 * (layer + 1),
            "train_accuracy": min(0.9 + 0.02 * layer, 1.0),
            "iterations": 1,
            "test_accuracy": min(0.85 + 0.02 * layer, 1.0),
            "rounds": 4,
            "bytes_total": 1000 * (layer + 1),
        }
        for layer in range(n_layers + 1)
    ]
    return {
        "data": "sample",
        "n_train": 100,
        "n_test": n_test,
        "train_accuracy": layers[-1]["train_accuracy"],
        "test_accuracy": 10 * Q / n_test,
        "train_error_db": layers[-1]["train_error_db"],
        "scores": {"total": SCORES},
        "layers": layers,
        "communication": {
            "consensus": "exact",
            "rounds": 4 * len(layers) + 8,
            "scalars_per_node": 12_345,
            "bytes_total": sum(row["bytes_total"] for row in layers) + 500,
            "before_layers": {"rounds": 8, "bytes_total": 500},
        },
        "equivalence": {
            "node_spread": 1.7e-11,
            "central_difference": 3.3e-12,
            "prediction_agreement": 1.0,
            "layer_cost_gap": 2.5e-14,
        },
        "graph": {
            "n_edges": len(ring),
            "edges": ring,
            "diameter": n_nodes // 2,
            "contraction": 0.87,
            "tol": 1e-12,
            "averaging": {
                "gossip": {"rounds": 203, "messages": 4060},
                "chebyshev": {"rounds": 45, "messages": 900},
                "exact": {"rounds": 5, "messages": 100},
                "tree": {"rounds": 10, "messages": 18},
            },
        },
        "held": [[20 * (q % n_nodes == m) for q in range(Q)] for m in range(n_nodes)],
        "confusion": sorted(right + wrong),
        "seconds": {"total": 1.0, "training": 0.5},
        "settings": {
            "n_nodes": n_nodes,
            "topology": "circular",
            "partition": "by-class",
            "n_features": 4,
            "classes": list(classes),
            "feature_names": None,
            "n_layers": n_layers,
            "width": 30,
            "solver": "gram",
            "n_iter": 100,
            "latency": 0.02,
            "seed": 0,
        },
        "made_by": {"dssfn": "0.1.0", "python": "3.11"},
    }


def found_result(*, beyond=2):
    """Metrics of a training that kept 3 layers, and tried some beyond them."""
    whole = sample_result(n_layers=3 + beyond)
    for row in whole["layers"]:
        kept = min(row["layer"], 3)
        row |= {"validation_error_db": -4.0 - kept, "validation_accuracy": 0.9}
        row |= {"width": 30, "ridge": 0.05 if row["layer"] == kept else None}
        row["train_accuracy"] = min(0.97 + 0.01 * kept, 1.0)
        if row["layer"] > 3:
            row["test_accuracy"] = None
    del whole["layers"][0]["width"]
    whole["layers"][1]["tried"] = [
        {"scale": "common", "width": 15, "error_db": -3.0},
        {"scale": "columns", "width": 15, "error_db": -4.5},
        {"scale": "columns", "width": 30, "error_db": -5.0},
        {"scale": "columns", "width": 60, "error_db": -5.02},
    ]
    whole["settings"] |= {
        "n_layers": 3,
        "width": 30,
        "members": 5,
        "scale": "columns",
        "consensus": "tree",
        "found": ["n_layers", "width", "members", "scale"],
    }
    whole["communication"]["consensus"] = "tree"
    whole["equivalence"]["same_choices"] = True
    for name in ("train_accuracy", "train_error_db"):
        whole[name] = whole["layers"][3][name]
    return whole


def node_result():
    """What a node of that training, between two neighbours, would know of it."""
    whole = sample_result()
    for row in whole["layers"]:
        row["test_accuracy"] = None
        del row["rounds"], row["bytes_total"]
    for name in ("data", "n_train", "scores", "communication", "equivalence"):
        del whole[name]
    link = {"bytes_received": 2000, "seconds_waited": 75.0, "n_connections": 1}
    return whole | {
        "node": "north",
        "model": "model.safetensors",
        "sha256": "0" * 64,
        "n_test": 0,
        "test_accuracy": None,
        "held": None,
        "confusion": None,
        "peers": {name: link | {"bytes_sent": 3000} for name in ("east", "west")},
        "seconds": {"total": 80.0},
    }
