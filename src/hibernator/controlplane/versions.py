"""The versions that this project is built and tested with; each is a tag of a public Go module."""

KUBERNETES = "1.36.3"
ETCD = "3.6.16"
KWOK = "0.8.0"

# ValidatingAdmissionPolicies are stable from here on.
OLDEST_KUBERNETES = (1, 30)
