"""How each class of Spark's expressions passes on what its arguments depend on.

One module a concept; each registers its handlers by Spark's simple class name.
A class that no module names is *generic*: every child is a source of its value.
"""

from spark_lineage.lineage.expressions import (  # noqa: F401  (importing registers)
    aggregates,
    casts,
    conditionals,
    functions,
    lambdas,
    references,
    structs,
    subqueries,
    windows,
)
from spark_lineage.lineage.handlers import handler_of

__all__ = ["handler_of"]
