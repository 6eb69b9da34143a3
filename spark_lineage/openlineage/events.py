"""A run and its lineage as OpenLineage events, as plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from spark_lineage.lineage.model import Dataset, Lineage, Output
from spark_lineage.openlineage.literals import without_literals
from spark_lineage.openlineage.producer import PRODUCER
from spark_lineage.openlineage.run import Run

Event = dict[str, Any]

END_STATES = ("COMPLETE", "FAIL", "ABORT")


class EventBuilder:
    """Builds the START and the end event of a run.

    ``disabled_facets`` are keys of facets (``sql``, ``sparkLineage_context``, ...)
    that no event shall have. ``sql`` is ``full``, or as
    :func:`~spark_lineage.openlineage.literals.without_literals` has it. With
    ``lineage_facet`` outputs have the explicit ``lineage`` facet too.
    """

    def __init__(
        self,
        disabled_facets: Iterable[str] = (),
        sql: str = "full",
        lineage_facet: bool = False,
    ) -> None:
        self._disabled = frozenset(disabled_facets)
        self._sql = sql
        self._lineage_facet = lineage_facet

    def start(self, run: Run, lineage: Lineage | None) -> Event:
        """The START event, at ``run.start_time``; without lineage it is bare."""
        return self._event("START", run.start_time, run, lineage)

    def end(self, run: Run, lineage: Lineage | None, state: str) -> Event:
        """The end event, at ``run.end_time`` (if not known: the start).

        ``state`` is COMPLETE, FAIL or ABORT; another raises ``ValueError``.
        """
        if state not in END_STATES:
            raise ValueError(f"state is {state!r}; allowed: {', '.join(END_STATES)}")
        at = run.start_time if run.end_time is None else run.end_time
        return self._event(state, at, run, lineage)

    def _event(self, state: str, at: int, run: Run, lineage: Lineage | None) -> Event:
        # Late: `import spark_lineage` must stay quick.
        from openlineage.client import event_v2 as ol
        from openlineage.client.serde import Serde

        from spark_lineage.openlineage import facets, run_facets

        event = ol.RunEvent(
            eventType=ol.RunState(state),
            eventTime=run_facets.timestamp(at),
            producer=PRODUCER,
            run=ol.Run(runId=run.run_id, facets=self._kept(run_facets.run_facets(run, lineage))),
            job=ol.Job(
                namespace=run.job_namespace,
                name=run.job_name,
                facets=self._kept(run_facets.job_facets(run)),
            ),
            inputs=[
                ol.InputDataset(
                    namespace=dataset.namespace,
                    name=dataset.name,
                    facets=self._kept(facets.dataset_facets(dataset)),
                    inputFacets=self._kept(
                        facets.input_facets(
                            dataset,
                            run.input_statistics.get((dataset.namespace, dataset.name)),
                        )
                    ),
                )
                for dataset in _inputs(lineage)
            ],
            outputs=[
                ol.OutputDataset(
                    namespace=dataset.namespace,
                    name=dataset.name,
                    facets=self._kept(
                        facets.dataset_facets(dataset, output.columns)
                        # Before its end, and after a failure, nothing is known to be changed.
                        | facets.lineage_facets(output, done=state == "COMPLETE")
                        | self._explicit(output, lineage)
                    ),
                    outputFacets=self._kept(
                        facets.output_facets(
                            dataset,
                            run.output_statistics.get((dataset.namespace, dataset.name)),
                        )
                    ),
                )
                for dataset, output in (
                    (same[0].dataset, facets.merged(same)) for same in _outputs(lineage)
                )
                if dataset is not None
            ],
        )
        told: Event = Serde.to_dict(event)
        return told if self._sql == "full" else without_literals(told, self._sql)

    def _explicit(self, output: Output, lineage: Lineage | None) -> dict[str, Any]:
        if not self._lineage_facet or lineage is None:
            return {}
        from spark_lineage.openlineage import lineage_facet

        alone = len(_outputs(lineage)) == 1
        inputs = lineage_facet.feeding(output, _inputs(lineage), alone)
        return {lineage_facet.LINEAGE_FACET: lineage_facet.lineage_facet(output, inputs)}

    def _kept(self, facets: dict[str, Any]) -> dict[str, Any]:
        return {key: facet for key, facet in facets.items() if key not in self._disabled}


def _inputs(lineage: Lineage | None) -> list[Dataset]:
    """Each input once, as first told."""
    datasets: dict[Dataset, Dataset] = {}
    for item in lineage.inputs if lineage else ():
        datasets.setdefault(item.dataset, item.dataset)
    return list(datasets.values())


def _outputs(lineage: Lineage | None) -> list[list[Output]]:
    """The outputs that have a name and were written, those of one data set together."""
    groups: dict[Dataset, list[Output]] = {}
    for output in lineage.outputs if lineage else ():
        if output.dataset is not None and output.written:
            groups.setdefault(output.dataset, []).append(output)
    return list(groups.values())
