"""The autoscalers that may stand above a workload, and the scale that any kind may offer."""

from typing import Annotated

from hibernator.api.kind import Kind
from hibernator.api.meta import Model, Object, says


class ScaleTarget(Model):
    """KEDA may leave out everything but the name; it then means a Deployment."""

    name: str
    api_version: str = "apps/v1"
    kind: str = "Deployment"


class HorizontalPodAutoscalerSpec(Model):
    scale_target_ref: ScaleTarget
    max_replicas: int
    min_replicas: int = 1


class HorizontalPodAutoscaler(Object, kw_only=True):
    spec: HorizontalPodAutoscalerSpec


class ScaledObjectSpec(Model):
    scale_target_ref: ScaleTarget


class ScaledObject(Object, kw_only=True):
    spec: ScaledObjectSpec


class ScaleSpec(Model):
    replicas: int = 0


class ScaleStatus(Model):
    replicas: int = 0


class Scale(Object):
    """What the scale subresource shows of an object of any kind."""

    spec: Annotated[ScaleSpec, says("How many are asked for.")] = ScaleSpec()
    status: Annotated[ScaleStatus, says("How many there are.")] = ScaleStatus()


HORIZONTAL_POD_AUTOSCALERS = Kind(
    HorizontalPodAutoscaler, "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"
)
SCALED_OBJECTS = Kind(ScaledObject, "keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")
