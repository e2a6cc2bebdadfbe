"""Adds the webhooks to a replica: every one serves them, the leader keeps certificates and registration.

served = handlers(client, clock, spool, open_ones, governance)
gate = Gate(tuple(served))
server = webhook_server(":9443", metrics, served, gate)
add_webhooks(manager, health, client, server, gate, Service("hibernator-webhook", namespace), …)
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from hibernator.admission import pathsecret
from hibernator.admission.keeper import Certificates, ConversionRegistration, Keeper, Registration
from hibernator.admission.keyrings import MountedCertificates, OwnCertificates, follow
from hibernator.admission.paths import Gate
from hibernator.admission.pathsecret import OwnPaths
from hibernator.admission.registration import CONVERT, Endpoint
from hibernator.admission.review import Handler, admission, conversion, on_record
from hibernator.admission.server import WebhookServer, application
from hibernator.admission.webhooks import configurations, deletion, stamping, validation
from hibernator.api.conversion import converted
from hibernator.api.timewindowscaler import SCALERS
from hibernator.audit.spool import AuditSpool
from hibernator.kube.client import Client
from hibernator.kube.clock import Clock, SystemClock
from hibernator.kube.controller import Controller, Key, Source, Watches
from hibernator.kube.health import Health
from hibernator.kube.manager import Manager
from hibernator.kube.metrics import Metrics

_EVERYTHING: Final = (Key("", "webhooks"),)  # there is only one thing to look at, whatever has changed


def handlers(
    client: Client,
    clock: Clock,
    spool: AuditSpool,
    open_ones: validation.OpenOnes,
    governance: validation.Governance | None = None,
) -> Mapping[str, Handler]:
    """Every webhook of the product, by its path; the clock is the one that schedules go by."""
    judge = validation.validation(client, clock, open_ones, governance)
    return {
        CONVERT: conversion({SCALERS.kind: converted}),
        deletion.PATH: admission(deletion.deletion(spool.keep, SystemClock())),
        stamping.PATH: admission(stamping.stamp),
        validation.PATH: admission(on_record(judge, spool.keep, clock.now)),
    }


def webhook_server(listen: str, metrics: Metrics, served: Mapping[str, Handler], gate: Gate) -> WebhookServer:
    """A server for all of them, where `listen` says, as host:port."""
    host, _, port = listen.rpartition(":")
    app = application(served, gate, metrics=metrics)
    return WebhookServer(app, host=host.strip("[]"), port=int(port), metrics=metrics)


def add_webhooks(
    manager: Manager,
    health: Health,
    client: Client,
    server: WebhookServer,
    gate: Gate,
    endpoint: Endpoint,
    *,
    namespace: str,
    metrics: Metrics,
    folder: Path | None = None,
    clock: Clock | None = None,
    definition: str = SCALERS.resource,
    only_namespace: str = "",
    configuration: str = configurations.NAME,
    others: Sequence[Registration] = (),
) -> Controller:
    """Certificates come from the folder, if there is one, else from a Secret; paths from a Secret always.

    `others` publish the authority too: they serve with the same certificate.

    The clock is the real one outside of tests: certificates are valid in real time.
    """
    clock = clock or SystemClock()
    definitions = ConversionRegistration.cache(client, definition)
    scope = configurations.Scope(only_namespace)
    found = [
        configurations.WebhookRegistration.cache(client, kind, configuration)
        for kind in (configurations.MUTATING, configurations.VALIDATING)
    ]
    keys = OwnPaths.cache(client, namespace)
    pathsecret.follow(keys, gate)
    sources: list[Source] = [
        Watches(definitions, _everything),
        Watches(keys, _everything),
        *(Watches(cache, _everything) for cache in found),
    ]
    certificates: Certificates
    if folder:
        certificates = mounted = MountedCertificates(folder, clock)
        manager.add("webhook certificates", lambda: mounted.serve(server))
    else:
        secrets = OwnCertificates.cache(client, namespace)
        sources.append(Watches(secrets, _everything))
        certificates = OwnCertificates(client, secrets, namespace, endpoint.names, clock)
        follow(secrets, server)
    registrations: tuple[Registration, ...] = (
        ConversionRegistration(client, definitions, definition),
        *(configurations.WebhookRegistration(client, cache, scope, configuration) for cache in found),
        *others,
    )
    paths = OwnPaths(client, keys, namespace, gate, clock)
    keeper = Keeper(certificates, paths, registrations, endpoint, server)
    controller = Controller(
        "webhooks",
        keeper.reconcile,
        sources=sources,
        clock=clock,
        metrics=metrics,
        workers=1,
    )
    manager.add("webhooks", server.run)
    manager.add_controller(controller)
    health.ready_if("webhooks", lambda: _missing(server, gate))
    return controller


def _missing(server: WebhookServer, gate: Gate) -> str:
    """What a replica has to wait for before it can be asked; empty when it can."""
    if not server.listening.is_set():
        return "waiting for a certificate"
    return "" if gate.is_open else "waiting for the keys of its paths"


def _everything(_obj: Any) -> Iterable[Key]:
    return _EVERYTHING
