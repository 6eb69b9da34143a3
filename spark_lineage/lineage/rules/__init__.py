"""The rules, one concept a module; importing this package registers them all."""

from spark_lineage.lineage.rules import (  # noqa: F401  (importing registers)
    aggregate,
    commands,
    cte,
    expand,
    filter,
    generate,
    join,
    opaque,
    passing,
    project,
    relations,
    sets,
    sort,
    typed,
    view,
    window,
    writes,
)
