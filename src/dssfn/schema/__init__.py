"""What the columns of a table mean, agreed on before anybody's data are read."""

from dssfn.schema.columns import Column, Schema, Target
from dssfn.schema.encoding import Encoding

__all__ = ["Column", "Encoding", "Schema", "Target"]
