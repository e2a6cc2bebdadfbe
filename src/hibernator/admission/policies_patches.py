"""A patch reaches no further than its author, who must be allowed to patch that kind in those namespaces.

The operator patches with its own rights. Without this, a plan would lend them to its author. The rights asked
for are those at the time of writing; a target that stays as it was is not asked about again. Where
namespaces are selected by label, the author must have the right in all of them.
"""

from typing import Final

from hibernator.admission.policies import IS_NEW, USER, Check, Policy, listed, quoted
from hibernator.api.hibernateplan import PLANS
from hibernator.api.patching import BUILT_IN, K8S, MOST_NAMESPACES, OWN_GROUPS, REFUSED

# For a question about rights the API server charges a third of what one expression may cost, so each is a
# variable of its own. What is asked about is a text, because lists of lists cannot be made one in 1.30.
_VERSION: Final = "string(t.?parameters.?apiVersion.orValue(''))"
_GROUP: Final = f"({_VERSION}.contains('/') ? {_VERSION}.split('/')[0] : '')"
_RESOURCE: Final = "string(t.?parameters.?resource.orValue(''))"
_LITERALS: Final = "t.?parameters.?namespace.?literals.orValue([])"
_SELECTOR: Final = "t.?parameters.?namespace.?selector.orValue({})"
_PLACES: Final = f"({_LITERALS} + ({_SELECTOR}.size() > 0 ? [''] : []))"  # '' stands for all of them
_NAME: Final = "'^[a-z0-9-]+$'"
_IS_WORD: Final = (
    f"{_RESOURCE}.matches({_NAME}) && {_VERSION}.matches('^([a-z0-9.-]+/)?[a-z0-9]+$')"
    f" && {_LITERALS}.all(n, string(n).matches({_NAME}))"
)
_IS_OWN: Final = f"({_GROUP} in {listed(OWN_GROUPS)} || {_GROUP}.endsWith({quoted(K8S)}))"
_BUILT_IN: Final = listed(f"{group}/{resource}" for group, resource in BUILT_IN)
_REFUSED: Final = f"{listed(REFUSED)}.exists(g, {_GROUP} == g || {_GROUP}.endsWith('.' + g))"
_FITS: Final = f"{_IS_WORD} && ({_IS_OWN} ? {_GROUP} + '/' + {_RESOURCE} in {_BUILT_IN} : !{_REFUSED})"
_ASKED: Final = f"{_PLACES}.map(n, {_RESOURCE} + '|' + {_GROUP} + '|' + string(n)).join(',')"


def _may(number: int) -> str:
    """Write the CEL that the author may patch what is asked about in this place of the list."""
    part = f"variables.asked[{number}].split('|')"
    right = f"authorizer.group({part}[1]).resource({part}[0])"
    there = f"{part}[2] == '' ? {right}.check('patch').allowed()"
    return (
        f"variables.asked.size() <= {number}"
        f" || ({there} : {right}.namespace({part}[2]).check('patch').allowed())"
    )


_MOST: Final = range(MOST_NAMESPACES)
_ALL: Final = " && ".join(f"variables.may{one}" for one in _MOST)
_PART: Final = "one.split('|')"
_SAID: Final = (
    f"variables.asked.map(one, {_PART}[0] + ({_PART}[1] == '' ? '' : '.' + {_PART}[1]) + ({_PART}[2] == ''"
    f" ? ' in every namespace, as a selector needs it' : ' in the namespace ' + {_PART}[2])).join(', ')"
)

PATCHES: Final = Policy(
    name="hibernator-patches",
    kinds=(PLANS,),
    operations=("CREATE", "UPDATE"),
    variables={
        "old": f"{IS_NEW} ? [] : oldObject.spec.targets",
        "patches": "object.spec.targets.filter(t, t.type == 'patches' && !(t in variables.old))",
        "unfit": f"variables.patches.filter(t, !({_FITS}))",
        "asked": f"variables.patches.map(t, {_ASKED}).join(',').split(',').filter(one, one != '')",
        **{f"may{number}": _may(number) for number in _MOST},
    },
    checks=(
        Check(
            "variables.unfit.size() == 0",
            "A target of type patches names a resource that is not patched: see the guide on patches",
            "'a target of type patches names a resource that is not patched: '"
            f" + variables.unfit.map(t, {_RESOURCE} + ' of ' + {_VERSION})[0] + '. Kinds that hold rights,"
            " secrets or Pods, or decide what others may write, are left alone'",
        ),
        Check(
            f"variables.asked.size() <= {MOST_NAMESPACES}",
            f"Targets of type patches name at most {MOST_NAMESPACES} namespaces in one plan: write several"
            " plans, or select namespaces by label",
        ),
        Check(
            f"variables.unfit.size() > 0 || ({_ALL})",
            "You may not patch what this plan would patch: ask for the right, or remove the target",
            # It can name all that was asked for and not what of it is missing: messages may not ask again.
            f"{USER} + ' may not patch all that this plan would patch: ' + {_SAID}"
            " + '. Ask for the verb patch there, or remove the target of type patches'",
        ),
    ),
)
