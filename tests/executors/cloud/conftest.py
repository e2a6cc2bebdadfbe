"""The clouds on loopback, for these tests only: to import their libraries takes its time."""

from support.aws import aws, aws_in_session, aws_server

__all__ = ["aws", "aws_in_session", "aws_server"]
