"""The agent: takes records from the bridge and ships events. Never touches the job."""
