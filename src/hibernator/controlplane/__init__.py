"""A real etcd, kube-apiserver and controller manager on loopback: found or built, started, cleaned up."""
