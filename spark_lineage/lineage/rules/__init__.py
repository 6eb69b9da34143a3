"""The rules, one concept a module; importing this package registers them all."""

from spark_lineage.lineage.rules import (  # noqa: F401  (importing registers)
    aggregate,
    commands,
    cte,
    expand,
    filter,
    generate,
    join,
    lakehouse,
    opaque,
    passing,
    project,
    relations,
    rowlevel,
    sets,
    sort,
    typed,
    view,
    view_commands,
    window,
    writes,
)
