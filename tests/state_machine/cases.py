"""Every small machine, by the sentence that it proves."""

from tests.state_machine.cases_of_groups import GROUP_CASES
from tests.state_machine.cases_of_tasks import TASK_CASES
from tests.state_machine.cases_of_values import VALUE_CASES

CASES = {**VALUE_CASES, **TASK_CASES, **GROUP_CASES}
