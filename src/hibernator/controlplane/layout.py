"""Where things lie in the directory of one control plane."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Layout:
    root: Path

    @property
    def lock(self) -> Path:
        """Held by the supervisor as long as it lives."""
        return self.root / "supervisor.lock"

    @property
    def stop(self) -> Path:
        """A FIFO: whatever is written to it stops the control plane."""
        return self.root / "stop"

    @property
    def state(self) -> Path:
        """Written once everything answers; what it says is true only while the lock is held."""
        return self.root / "state.json"

    @property
    def failure(self) -> Path:
        """Why a control plane that was up has ended by itself."""
        return self.root / "failure.json"

    @property
    def kubeconfig(self) -> Path:
        return self.root / "kubeconfig"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def audit(self) -> Path:
        return self.logs / "audit.jsonl"

    @property
    def audit_policy(self) -> Path:
        return self.root / "audit-policy.yaml"

    def log(self, process: str) -> Path:
        return self.logs / f"{process}.log"

    def cert(self, name: str) -> Path:
        return self.root / "pki" / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.root / "pki" / f"{name}.key"
