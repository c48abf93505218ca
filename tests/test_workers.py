"""How the tests themselves are spread over workers."""

import pytest

RAN: list[str] = []


@pytest.mark.parametrize("number", range(4))
def test_is_noted(number: int, request: pytest.FixtureRequest) -> None:
    assert request.node.name not in RAN
    RAN.append(request.node.name)


def test_all_tests_of_a_file_run_in_one_process(request: pytest.FixtureRequest) -> None:
    of_this_file = [item.name for item in request.session.items if item.path == request.node.path]
    assert of_this_file[:-1] == RAN
