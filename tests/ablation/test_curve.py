from headscope.ablation.plan import least_harm_first, ordering_metric, plan_curve
from headscope.edits.heads import Member
from headscope.tasks.metric import Mean
from headscope.types import HeadId

F1 = Mean("f1", "%", field="f1")
LOSS = Mean("loss", "nats", higher_is_better=False, field="loss")
EM = Mean("em", "%", field="em")


def heads(count: int) -> list[Member]:
    return [("encoder", HeadId(number // 2, number % 2)) for number in range(count)]


def test_the_head_whose_loss_harms_least_goes_first() -> None:
    a, b, c, d = heads(4)
    changes = {a: -3.0, b: 1.0, c: -0.5, d: 1.0}
    assert least_harm_first(changes, F1) == [b, d, c, a]
    assert least_harm_first(changes, LOSS) == [a, c, b, d]


def test_the_metric_to_order_by() -> None:
    assert ordering_metric([EM, F1, LOSS]) is F1
    assert ordering_metric([F1, LOSS]) is LOSS
    assert ordering_metric([EM]) is EM


def test_points_of_a_curve() -> None:
    members = heads(6)
    curve, edits = plan_curve(members, {"importance": members[::-1]}, "zero", steps=3, seeds=2)
    assert curve.orders == ("importance", "random 0", "random 1")
    assert curve.counts == (2, 4, 6)
    by_name = {edit.name: edit for edit in edits}
    assert by_name["importance: 2 heads"].heads.members == set(members[4:])
    assert len(edits) == 3 * 2 + 1
    assert curve.names["random 1", 6] == "all 6 heads"
    for order in ("random 0", "random 1"):
        smaller, larger = (by_name[curve.names[order, count]].heads.members for count in (2, 4))
        assert smaller < larger
    again, _ = plan_curve(members, {}, "zero", steps=50, seeds=1)
    assert again.counts == (1, 2, 3, 4, 5, 6)
    assert again.orders == ("random 0",)
