"""Uses the generated client against a live server: what is allowed works, what is not is a problem."""

import sys
import time

from cofferdam_api import AuthenticatedClient
from cofferdam_api.api.events import list_events
from cofferdam_api.api.projects import create_project, list_projects, show_project
from cofferdam_api.api.server import me
from cofferdam_api.api.tasks import (
    cancel_task,
    create_task,
    get_artifact,
    list_artifacts,
    list_tasks,
    show_task,
    task_artifacts,
)
from cofferdam_api.models import ExecutionMode, NewProject, NewTask, NewTaskSettings, Problem, TaskState

url, token, root = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token)

assert me.sync(client=client).actor == "token:admin"
project = create_project.sync(client=client, body=NewProject(name="made", root_path=root))
assert show_project.sync(project.id, client=client).name == "made"
assert [item.id for item in list_projects.sync(client=client).items] == [project.id]

asked = NewTask(project=project.id, execution_mode=ExecutionMode.ISOLATED_WORKTREE, command=["true"], dispatch=False)
task = create_task.sync(client=client, body=asked, idempotency_key="once")
assert create_task.sync(client=client, body=asked, idempotency_key="once").id == task.id
assert task.state == TaskState.CREATED, task.state
assert cancel_task.sync(task.id, client=client).state == TaskState.CANCELED
assert [item.id for item in list_tasks.sync(client=client, state=TaskState.CANCELED).items] == [task.id]
kinds = {event.type_ for event in list_events.sync(client=client, task=task.id).items}
assert "task.created" in kinds, kinds

left = NewTask(
    execution_mode=ExecutionMode.NO_WORKSPACE,
    command=["sh", "-c", "echo left > a.txt"],
    settings=NewTaskSettings.from_dict({"sandbox.backend": "native"}),
    artifacts=["a.txt"],
)
task = create_task.sync(client=client, body=left)
until = time.monotonic() + 60
while (state := show_task.sync(task.id, client=client).state) not in (TaskState.SUCCEEDED, TaskState.FAILED):
    assert time.monotonic() < until, state
    time.sleep(0.1)
assert state == TaskState.SUCCEEDED, state
(kept,) = task_artifacts.sync(task.id, client=client).items
assert (kept.name, kept.size) == ("a.txt", 5), kept
assert [item.id for item in list_artifacts.sync(client=client, task=task.id).items] == [kept.id]
assert get_artifact.sync_detailed(kept.id, client=client).content == b"left\n"

missing = show_task.sync("01jd0000000000000000000000", client=client)
assert isinstance(missing, Problem) and missing.status == 404, missing
other = AuthenticatedClient(base_url=url, token="wrong")
refused = list_tasks.sync(client=other)
assert isinstance(refused, Problem) and refused.status == 401, refused
print("all is well")
