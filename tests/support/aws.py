"""Amazon's S3 and Glue on this machine: moto's server, which keeps what it is given in memory."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

from tests.support.parts import missing

REGION, ACCOUNT = "eu-west-1", "123456789012"
KEY, SECRET = "AKIAOFTHELAKE1234567", "s3cret/key+of-the-lake/1234567890abcdef"
#: What a client finds in its environment.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": KEY,
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_REGION": REGION,
    "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def running_aws(*buckets: str) -> Iterator[str]:
    """The server's address; it has these buckets."""
    for part in ("moto", "flask", "boto3"):
        if importlib.util.find_spec(part) is None:
            missing(part)
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        address = f"http://{host}:{port}"
        # All servers of one process have the same memory.
        urlopen(Request(f"{address}/moto-api/reset", method="POST"), timeout=30).close()
        client = s3(address)
        for bucket in buckets:
            place = {"LocationConstraint": REGION}
            client.create_bucket(Bucket=bucket, CreateBucketConfiguration=place)
        client.close()
        yield address
    finally:
        server.stop()


def s3(address: str) -> Any:
    """A client of the server's S3."""
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=address,
        region_name=REGION,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
    )
