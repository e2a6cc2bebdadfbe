"""HibernatePlans: their schedule, their targets and the order of the work."""

from api.corpus.cases import START_IS_END, Bad, Good
from api.objects import cloud, noop, off_hours, ordered, plan, without

TWO_STAGES = [{"name": "front", "targets": ["web", "api"]}, {"name": "back", "targets": ["db"]}]
SELECTED = {"instanceIds": ["i-0abc"]}

GOOD = [
    Good("a plan with nothing but what it must have", plan()),
    Good(
        "times and days as people write them",
        plan(schedule={"offHours": [off_hours("6:00", "7:00", "mon", "Sunday")]}),
    ),
    Good("a day that lasts till its end", plan(schedule={"offHours": [off_hours("00:00", "23:59")]})),
    Good(
        "holidays of a part of a country",
        plan(schedule={"holidays": {"mode": "stay-awake", "country": "DE", "subdivision": "BY"}}),
    ),
    Good(
        "dependencies between targets",
        ordered("DAG", dependencies=[{"from": "web", "to": "api"}, {"from": "api", "to": "db"}]),
    ),
    Good("a graph without a single dependency", ordered("DAG")),
    Good("stages that have every target once", ordered("Staged", stages=TWO_STAGES)),
    Good("two at a time", ordered("Parallel", maxConcurrency=2)),
    Good(
        "workloads of the operator's own cluster",
        cloud("workloadscaler", None, namespace={"literals": ["shop"]}),
    ),
    Good("instances reached through an account", cloud("ec2", selector=SELECTED)),
    Good("node groups reached through a cluster", cloud("eks", "K8SCluster")),
    Good("node groups reached through an account", cloud("eks", clusterName="dev")),
    Good(
        "a plan put aside till a date",
        plan(suspend=True, suspendUntil="2026-12-24T00:00:00+01:00", suspendReason="fair"),
    ),
    Good("a plan with a name of 63 characters", plan(name="x" * 63)),
]

BAD = [
    Bad(
        "a window that ends when it begins",
        plan(schedule={"offHours": [off_hours("20:00", "20:00")]}),
        START_IS_END,
        "spec.schedule.offHours[0]",
    ),
    Bad(
        "the same time in two spellings",
        plan(schedule={"offHours": [off_hours("6:00", "06:00")]}),
        START_IS_END,
        "spec.schedule.offHours[0]",
    ),
    Bad(
        "a time that no clock shows",
        plan(schedule={"offHours": [off_hours("24:00")]}),
        "spec.schedule.offHours[0].start",
        "spec.schedule.offHours[0].start",
    ),
    Bad(
        "a time with a line break",
        plan(schedule={"offHours": [off_hours("8:00\n")]}),
        "spec.schedule.offHours[0].start",
        "spec.schedule.offHours[0].start",
    ),
    Bad(
        "a day that no week has",
        plan(schedule={"offHours": [off_hours("20:00", "06:00", "MONTAG")]}),
        "spec.schedule.offHours[0].daysOfWeek[0]",
        "spec.schedule.offHours[0].daysOfWeek[0]",
    ),
    Bad(
        "no day at all",
        plan(schedule={"offHours": [off_hours() | {"daysOfWeek": []}]}),
        "should have at least 1 items",
        "spec.schedule.offHours[0].daysOfWeek",
    ),
    Bad(
        "the same day twice",
        plan(schedule={"offHours": [off_hours("20:00", "06:00", "MON", "MON")]}),
        'Duplicate value: "MON"',
        "spec.schedule.offHours[0].daysOfWeek[1]",
    ),
    Bad(
        "no window at all",
        plan(schedule={"offHours": []}),
        "spec.schedule.offHours",
        "spec.schedule.offHours",
    ),
    Bad(
        "no zone",
        without(plan(), "spec", "schedule", "timezone"),
        "spec.schedule.timezone: Required value",
        "spec.schedule.timezone",
    ),
    Bad("an empty zone", plan(schedule={"timezone": ""}), "spec.schedule.timezone", "spec.schedule.timezone"),
    Bad(
        "a misspelt field",
        plan(schedule={"timeZone": "UTC"}),
        'unknown field "spec.schedule.timeZone"',
        "spec.schedule.timeZone",
    ),
    Bad(
        "a part of no country",
        plan(schedule={"holidays": {"subdivision": "BY"}}),
        "subdivision is a part of a country: set country too",
        "spec.schedule.holidays.subdivision",
    ),
    Bad(
        "a country in words",
        plan(schedule={"holidays": {"country": "Germany"}}),
        "spec.schedule.holidays.country",
        "spec.schedule.holidays.country",
    ),
    Bad(
        "a mode of another kind",
        plan(schedule={"holidays": {"mode": "treat-as-closed"}}),
        'supported values: "ignore", "sleep-all-day", "stay-awake"',
        "spec.schedule.holidays.mode",
    ),
    Bad(
        "a name that is too long for a label",
        plan(name="x" * 64),
        "has at most 63 characters, because its exceptions carry it as a label",
        "metadata.name",
    ),
    Bad("no targets", plan() | {"spec": plan()["spec"] | {"targets": []}}, "spec.targets", "spec.targets"),
    Bad(
        "two targets of one name",
        plan(noop("web"), noop("web")),
        'Duplicate value: {"name":"web"}',
        "spec.targets[1]",
    ),
    Bad(
        "a target of no known type",
        plan({"name": "it", "type": "lambda"}),
        'spec.targets[0].type: Invalid value: "lambda": spec.targets[0].type in body should match',
        "spec.targets[0].type",
    ),
    Bad(
        "a target with a name in capitals", plan(noop("Web")), "spec.targets[0].name", "spec.targets[0].name"
    ),
    Bad(
        "a cloud resource without a connector",
        cloud("rds", None, selector={"clusterIds": ["a"]}),
        "connectorRef is required: a target of type rds is reached through a CloudProvider",
        "spec.targets[0].connectorRef",
    ),
    Bad(
        "node groups without a connector",
        cloud("eks", None),
        "a target of type eks is reached through a CloudProvider or a K8SCluster",
        "spec.targets[0].connectorRef",
    ),
    Bad(
        "instances behind a cluster",
        cloud("ec2", "K8SCluster", selector=SELECTED),
        "connectorRef.kind must be CloudProvider for a target of type ec2",
        "spec.targets[0].connectorRef.kind",
    ),
    Bad(
        "workloads behind an account",
        cloud("workloadscaler", namespace={"literals": ["shop"]}),
        "connectorRef.kind must be K8SCluster for a target of type workloadscaler",
        "spec.targets[0].connectorRef.kind",
    ),
    Bad(
        "a dependency on a target that is not there",
        ordered("DAG", dependencies=[{"from": "web", "to": "cache"}]),
        'dependencies name targets that this plan does not have: ["cache"]',
        "spec.execution.strategy.dependencies[0].to",
    ),
    Bad(
        "a target that waits for itself",
        ordered("DAG", dependencies=[{"from": "web", "to": "web"}]),
        "A target cannot wait for itself",
        "spec.execution.strategy.dependencies[0].to",
    ),
    Bad(
        "dependencies where nobody looks at them",
        ordered("Sequential", dependencies=[{"from": "web", "to": "db"}]),
        "dependencies are only for the strategy DAG",
        "spec.execution.strategy.dependencies",
    ),
    Bad(
        "stages where nobody looks at them",
        ordered("Parallel", stages=TWO_STAGES),
        "stages are only for the strategy Staged",
        "spec.execution.strategy.stages",
    ),
    Bad(
        "no stages where they are needed",
        ordered("Staged"),
        "stages are required by the strategy Staged",
        "spec.execution.strategy.stages",
    ),
    Bad(
        "a stage with a target that is not there",
        ordered("Staged", stages=[*TWO_STAGES, {"name": "last", "targets": ["cache"]}]),
        'stages name targets that this plan does not have: [["cache"]]',
        "spec.execution.strategy.stages[2].targets[0]",
    ),
    Bad(
        "a target that no stage has",
        ordered("Staged", stages=TWO_STAGES[:1]),
        'stages leave out targets of this plan: ["db"]',
        "spec.execution.strategy.stages",
    ),
    Bad(
        "a target in two stages",
        ordered("Staged", stages=[*TWO_STAGES, {"name": "last", "targets": ["web"]}]),
        'but some are in several: ["web"]',
        "spec.execution.strategy.stages[2].targets[0]",
    ),
    Bad(
        "two stages of one name",
        ordered("Staged", stages=[TWO_STAGES[0], TWO_STAGES[1] | {"name": "front"}]),
        'Duplicate value: {"name":"front"}',
        "spec.execution.strategy.stages[1]",
    ),
    Bad(
        "an empty stage",
        ordered("Staged", stages=[*TWO_STAGES, {"name": "last", "targets": []}]),
        "spec.execution.strategy.stages[2].targets",
        "spec.execution.strategy.stages[2].targets",
    ),
    Bad(
        "no target at a time",
        ordered("Parallel", maxConcurrency=0),
        "should be greater than or equal to 1",
        "spec.execution.strategy.maxConcurrency",
    ),
    Bad(
        "too many retries",
        plan(behavior={"retries": 11}),
        "should be less than or equal to 10",
        "spec.behavior.retries",
    ),
    Bad(
        "a behaviour that nobody knows",
        plan(behavior={"mode": "Lenient"}),
        'supported values: "Strict", "BestEffort"',
        "spec.behavior.mode",
    ),
    Bad(
        "a suspension till tomorrow", plan(suspendUntil="tomorrow"), "spec.suspendUntil", "spec.suspendUntil"
    ),
    Bad(
        "a list in place of an instant",
        plan(suspendUntil=["2026-12-24T00:00:00Z"]),
        "it must be an instant with its zone",
        "spec.suspendUntil",
    ),
    Bad(
        "parameters that are no block",
        plan(noop("web", parameters=["a"])),
        "spec.targets[0].parameters",
        "spec.targets[0].parameters",
    ),
]
