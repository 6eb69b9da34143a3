"""Where a script is kept, read from repositories that git itself made."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from spark_lineage.agent.source import locate, web_url
from tests.support.jobs import Jobs

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="no git on this machine")


def _git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(
        ["git", *identity, *words],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "jobs").mkdir(parents=True)
    (folder / "jobs" / "my job.py").write_text("print()")
    _git(folder, "init")
    _git(folder, "add", ".")
    _git(folder, "commit", "-m", "first")
    _git(folder, "remote", "add", "other", "https://example.com/other/one.git")
    _git(folder, "remote", "add", "origin", "https://me:s3cret@github.com/org/repo.git")
    return folder


def test_a_script_in_a_repository(repository: Path) -> None:
    commit = _git(repository, "rev-parse", "HEAD")
    found = locate(str(repository / "jobs" / "my job.py"))
    assert found is not None
    assert found.url == f"https://github.com/org/repo/blob/{commit}/jobs/my%20job.py"
    assert found.repository == "https://github.com/org/repo"
    assert (found.path, found.version) == ("jobs/my job.py", commit)
    assert (found.branch, found.tag) == ("main", None)
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize("pack", [False, True])
@pytest.mark.parametrize("annotated", [False, True])
def test_packed_refs_tags_and_a_head_that_is_no_branch(
    repository: Path, pack: bool, annotated: bool
) -> None:
    _git(repository, "tag", *(["-a", "-m", "x"] if annotated else []), "v1.0")
    if pack:
        _git(repository, "pack-refs", "--all")
    script = str(repository / "jobs" / "my job.py")
    found = locate(script)
    assert found is not None
    # The object of an annotated tag that is not packed would have to be unpacked.
    assert found.tag == (None if annotated and not pack else "v1.0")
    assert found.branch == "main"
    _git(repository, "checkout", "--detach")
    detached = locate(script)
    assert detached is not None
    assert (detached.branch, detached.version) == (None, found.version)


def test_a_worktree(repository: Path, tmp_path: Path) -> None:
    _git(repository, "worktree", "add", "-b", "side", str(tmp_path / "side"))
    found = locate(str(tmp_path / "side" / "jobs" / "my job.py"))
    assert found is not None
    assert (found.branch, found.repository) == ("side", "https://github.com/org/repo")


def test_without_repository_remote_or_file_nothing_is_told(
    repository: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "alone.py"
    alone.write_text("")
    assert locate(str(alone)) is None
    assert locate(str(tmp_path / "absent.py")) is None
    assert locate(None) is None
    _git(repository, "remote", "remove", "origin")
    _git(repository, "remote", "remove", "other")
    assert locate(str(repository / "jobs" / "my job.py")) is None
    (repository / ".git" / "HEAD").write_bytes(b"\xff\xfe ref: refs/heads/../../x")
    assert locate(str(repository / "jobs" / "my job.py")) is None


@pytest.mark.parametrize(
    ("remote", "url"),
    [
        ("git@github.com:org/repo.git", "https://github.com/org/repo"),
        ("ssh://git@git.example.com:2222/org/repo", "https://git.example.com/org/repo"),
        ("https://token@host:8443/a/b.git?x=1#y", "https://host:8443/a/b"),
        ("http://user:pw@host/a b", "http://host/a%20b"),
        ("git://host/a.git", "https://host/a"),
        ("/srv/git/a.git", None),
        ("file:///srv/git/a.git", None),
        ("C:/git/a", None),
        ("", None),
        (None, None),
    ],
)
def test_a_remote_as_a_web_address(remote: str | None, url: str | None) -> None:
    assert web_url(remote) == url


JOB = """
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.appName("declared").getOrCreate()
    spark.range(3).write.parquet("kept")
    spark.range(3).write.parquet("hidden")
    spark.stop()
"""
RUN, PARENT = "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"


@pytest.mark.spark
def test_a_submitted_script_is_found_and_all_that_is_declared_is_told(jobs: Jobs) -> None:
    script = jobs.script(JOB)
    _git(jobs.folder, "init")
    _git(jobs.folder, "add", "job.py")
    _git(jobs.folder, "commit", "-m", "first")
    _git(jobs.folder, "remote", "add", "origin", "git@git.example.com:team/jobs.git")
    done = jobs.submit(
        script,
        {
            "spark.lineage.applicationRunId": RUN,
            "spark.lineage.job.tags": "daily;team:data",
            "spark.lineage.job.owners": "team:data",
            "spark.lineage.nominalStartTime": "2026-01-01T00:00:00Z",
            "spark.lineage.lineageFacet": "on",
            "spark.lineage.filter.datasets.deny": "*/hidden",
            "spark.openlineage.parentJobNamespace": "airflow",
            "spark.openlineage.parentJobName": "dag.task",
            "spark.openlineage.parentRunId": PARENT,
            "spark.openlineage.rootParentJobNamespace": "airflow",
            "spark.openlineage.rootParentJobName": "dag",
            "spark.openlineage.rootParentRunId": PARENT,
        },
    )
    assert done.code == 0, done.stderr
    application, start, end, last = done.events
    assert application["run"]["runId"] == last["run"]["runId"] == RUN
    assert end["eventType"] == "COMPLETE"
    assert "hidden" not in str(done.events)
    commit = _git(jobs.folder, "rev-parse", "HEAD")
    for event in done.events:
        facets = event["job"]["facets"]
        location = facets["sourceCodeLocation"]
        assert location["url"] == f"https://git.example.com/team/jobs/blob/{commit}/job.py"
        assert [tag["key"] for tag in facets["tags"]["tags"]] == ["daily", "team"]
        assert facets["ownership"]["owners"] == [{"name": "data", "type": "team"}]
        assert event["run"]["facets"]["nominalTime"]["nominalStartTime"].startswith("2026-01-01T")
        parent = event["run"]["facets"]["parent"]
        assert parent["root"]["job"] == {"namespace": "airflow", "name": "dag"}
        mine = event is application or event is last
        assert parent["run"]["runId"] == (PARENT if mine else RUN)
    assert end["outputs"][0]["facets"]["lineage"]["inputs"] == []
    assert start["run"]["runId"] == end["run"]["runId"]
