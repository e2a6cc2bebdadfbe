"""Who made a change is recorded truthfully or not at all: no user can name another.

The webhook writes the notes (`decisions.author`). While it is down no one has to, and whatever leaves a note
out, or carries it along as it was, gets through: a note that is older than the object counts for nothing.
"""

from typing import Final

from hibernator.admission.policies import IS_NEW, USER, Check, Policy, metadata
from hibernator.api.kinds import all_kinds
from hibernator.decisions.hibernateplan_case import RETRY
from hibernator.decisions.journal import CHANGED_BY, RETRIED_BY


def _before(key: str) -> str:
    return f"{IS_NEW} ? '' : {metadata('oldObject', 'annotations', key)}"


def _own_words(key: str, note: str) -> str:
    """Write the CEL of the sentence for anyone who has written something else."""
    return (
        f"'The annotation {key} is \"' + {note} + '\", and you are ' + {USER}"
        " + ': leave it out, the operator\\'s webhook writes it with each change'"
    )


AUTHORS: Final = Policy(
    name="hibernator-authors",
    kinds=tuple(all_kinds()),
    operations=("CREATE", "UPDATE"),
    variables={
        "changed": metadata("object", "annotations", CHANGED_BY),
        "wasChanged": _before(CHANGED_BY),
        "isChange": f"{IS_NEW} || object.metadata.generation != oldObject.metadata.generation",
        "retried": metadata("object", "annotations", RETRIED_BY),
        "wasRetried": _before(RETRIED_BY),
        "retry": metadata("object", "annotations", RETRY),
        "isRetry": f"variables.retry != ({_before(RETRY)})",
        "mine": f"variables.isRetry && variables.retried == variables.retry + ' ' + {USER}",
    },
    checks=(
        Check(
            "variables.changed in ['', variables.wasChanged] || (variables.isChange"
            f" && variables.changed == string(object.metadata.generation) + ' ' + {USER})",
            f"The annotation {CHANGED_BY} is for the operator's webhook to write: leave it out",
            _own_words(CHANGED_BY, "variables.changed"),
        ),
        Check(
            "variables.retried in ['', variables.wasRetried] || variables.mine",
            f"The annotation {RETRIED_BY} is for the operator's webhook to write: leave it out",
            _own_words(RETRIED_BY, "variables.retried"),
        ),
        Check(
            "!variables.isRetry || variables.mine || !variables.retried.startsWith(variables.retry + ' ')",
            f"The annotation {RETRY} has a value that another user has used: write another, such as the"
            " time, or use `hibernator plan retry`",
        ),
    ),
)
