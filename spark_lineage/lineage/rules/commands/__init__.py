"""Commands that carry no column, one concept a module; importing this registers them."""

from spark_lineage.lineage.rules.commands import (  # noqa: F401  (importing registers)
    alter,
    create,
    drop,
    load,
    nothing,
    rename,
    scan,
)
