"""How people, their roles and their words appear in the API, wherever somebody must agree to something."""

from typing import Annotated

from hibernator.api.meta import says

EMAIL = r"^[^@\s]+@[^@\s]+$"

# 254 is the longest address that mail can be sent to.
Email = Annotated[str, says("An e-mail address.", pattern=EMAIL, minLength=3, maxLength=254)]
Role = Annotated[
    str, says("A role, as the operator's configuration names it.", pattern=r"^\S+$", maxLength=128)
]
User = Annotated[str, says("A user, as Kubernetes authenticated them.", maxLength=512)]
Channel = Annotated[
    str, says("Through what it came, such as `kubectl`, `slack`, `link` or `dashboard`.", maxLength=64)
]
Words = Annotated[str, says("Why, in words.", maxLength=1024)]
