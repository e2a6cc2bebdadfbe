"""The clouds on loopback, for these tests only: to import their libraries takes its time."""

from support.aws import aws, aws_in_session, aws_server
from support.gcp import google, project

__all__ = ["aws", "aws_in_session", "aws_server", "google", "project"]
