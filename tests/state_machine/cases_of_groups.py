"""Cases of Map and Parallel, and of the execution as a whole."""

from tests.state_machine.builders import awaited, catching, machine, passing, retrying, task
from tests.state_machine.case import FAILS, WAITS, Case, branching, mapping

GROUP_CASES = {
    "the_machine_has_a_time_out_of_its_own": Case({"TimeoutSeconds": 2, **machine(WAITS)}, error="States.Timeout", seconds=2),
    "map_gives_each_item_its_selection_in_order": Case(
        machine(
            mapping(
                {"P": passing()},
                ItemsPath="$.xs",
                MaxConcurrency=2,
                ItemSelector={"v.$": "$$.Map.Item.Value", "i.$": "$$.Map.Item.Index", "g.$": "$.g"},
            )
        ),
        {"xs": ["a", "b", "c"], "g": 9},
        [{"v": "a", "i": 0, "g": 9}, {"v": "b", "i": 1, "g": 9}, {"v": "c", "i": 2, "g": 9}],
        states="A P P P",
    ),
    "map_over_nothing_gives_nothing": Case(machine(mapping({"P": passing()}, ItemsPath="$.xs")), {"xs": []}, []),
    "map_over_no_array_fails": Case(machine(mapping({"P": passing()}, ItemsPath="$.xs")), {"xs": 1}, error="States.Runtime"),
    "map_stops_at_once_when_an_item_fails": Case(
        machine(
            mapping(
                {
                    "P": {"Type": "Choice", "Choices": [{"Variable": "$", "NumericEquals": 0, "Next": "F"}], "Default": "W"},
                    "F": FAILS,
                    "W": WAITS,
                },
                ItemsPath="$.xs",
                Catch=catching("States.ALL"),
            ),
            B=passing(),
        ),
        {"xs": [0, 1, 2]},
        {"Error": "Item", "Cause": ""},
        seconds=0,
        states="A P P P F B",
        inside=False,
    ),
    "a_map_inside_a_map_sees_its_own_item": Case(
        machine(
            mapping({"P": {**mapping({}), "ItemSelector": {"v.$": "$$.Map.Item.Value"},
                           "ItemProcessor": {"StartAt": "Q", "States": {"Q": passing()}}}})
        ),
        [[1, 2], [3]],
        [[{"v": 1}, {"v": 2}], [{"v": 3}]],
        states="A P P Q Q Q",
    ),
    "parallel_runs_its_branches_together": Case(
        machine(branching(*[task("sleeper", {"s": 2}, OutputPath="$.StatusCode")] * 2)),
        {},
        [200, 200],
        seconds=2,
        states="A B0 B1",
    ),
    "parallel_stops_at_once_when_a_branch_fails": Case(
        machine(branching(FAILS, WAITS, Catch=catching("Item")), B=passing(Result="c")),
        {},
        "c",
        seconds=0,
        states="A B0 B",
        inside=False,
    ),
    "parallel_is_retried_whole": Case(
        machine(branching(task("flaky", {"n": 2}, OutputPath="$.Payload"), Retry=retrying("States.ALL"))),
        {},
        [{"tries": 2}],
        seconds=1,
        states="A B0 B0",
    ),
    "a_succeed_in_a_branch_ends_only_the_branch": Case(
        machine(branching({"Type": "Succeed"}, Next="B"), B=passing()),
        {"x": 1},
        [{"x": 1}],
        states="A B0 B",
    ),
    "tokens_of_branches_are_not_mixed": Case(
        machine(branching(*[awaited("launcher", {"mode": "success", "id": i, "delay": 2 - i / 2}) for i in range(4)])),
        {},
        [{"ok": i} for i in range(4)],
        states="A B0 B1 B2 B3",
    ),
    "map_runs_no_more_items_at_once_than_it_may": Case(
        machine(mapping({"P": task("crowded", {"s": 0.3, "most": 3}, ResultPath=None)}, ItemsPath="$.xs", MaxConcurrency=3)),
        {"xs": list(range(7))}, list(range(7)), seconds=0.9, states="A" + " P" * 7,
    ),
    "map_takes_how_many_items_at_once_from_its_input": Case(
        machine(mapping({"P": task("crowded", {"s": 0.3, "most": 2}, ResultPath=None)}, ItemsPath="$.xs",
                        MaxConcurrencyPath="$.most")),
        {"xs": [1, 2, 3], "most": 2}, [1, 2, 3], seconds=0.6, states="A P P P",
    ),
    "map_gives_its_results_where_result_path_says": Case(
        machine(mapping({"P": passing()}, ItemsPath="$.xs", ResultSelector={"all.$": "$[0]"}, ResultPath="$.r")),
        {"xs": [7]}, {"xs": [7], "r": {"all": 7}}, states="A P",
    ),
    "map_takes_its_items_from_its_filtered_input": Case(
        machine(mapping({"P": passing()}, InputPath="$.a", ItemsPath="$.xs", ResultPath="$.r", OutputPath="$.r",
                        ItemSelector={"k.$": "$.k", "v.$": "$$.Map.Item.Value"})),
        {"a": {"xs": [1], "k": 2}}, [{"k": 2, "v": 1}], states="A P",
    ),
    "map_catches_what_an_item_raises_by_its_name": Case(
        machine(mapping({"P": task("boom")}, ItemsPath="$.xs", Catch=catching("CustomErr", ResultPath="$.e")), B=passing()),
        {"xs": [0]},
        {"xs": [0], "e": {"Error": "CustomErr", "Cause": '{"errorMessage":"it broke","errorType":"CustomErr"}'}}, states="A P B",
    ),
    "map_is_retried_whole": Case(
        machine(mapping({"P": task("flaky", {"n": 3}, ResultPath=None)}, MaxConcurrency=1, Retry=retrying("States.ALL"))),
        [1, 2], [1, 2], seconds=1 + 2, states="A P P P P",
    ),
    "task_failed_matches_what_an_item_raises": Case(
        machine(mapping({"P": task("boom")}, Catch=catching("States.TaskFailed")), B=passing(Result=1)), [0], 1, states="A P B"
    ),
    "an_item_knows_its_map": Case(
        machine(mapping({"P": passing(Parameters={"i.$": "$$.Map.Item.Index", "s.$": "$$.State.Name"})})), [5],
        [{"i": 0, "s": "P"}], states="A P",
    ),
    "parallel_gives_every_branch_its_parameters": Case(
        machine(branching(passing(), passing(), Parameters={"v.$": "$.x"}, ResultSelector={"second.$": "$[1]"},
                          ResultPath="$.r")),
        {"x": 1}, {"x": 1, "r": {"second": {"v": 1}}}, states="A B0 B1",
    ),
    "parallel_that_is_not_caught_fails_with_the_error_of_its_branch": Case(
        machine(branching({"Type": "Fail", "Error": "E", "Cause": "C"}, passing())), error="E", states="A B0", inside=False
    ),
    "a_catch_inside_a_branch_leaves_the_others_alone": Case(
        machine({"Type": "Parallel", "End": True, "Branches": [
            {"StartAt": "P", "States": {"P": task("boom", Catch=catching("States.ALL", to="Q")), "Q": passing(Result="q")}},
            {"StartAt": "R", "States": {"R": passing(Result="r")}}]}),
        {}, ["q", "r"], states="A P R Q",
    ),
    "a_machine_that_ends_in_time_does_not_meet_its_time_out": Case({"TimeoutSeconds": 9, **machine(passing(Result=1))}, {}, 1),
    "a_machine_cannot_catch_its_own_time_out": Case(
        {"TimeoutSeconds": 1, **machine(branching({"Type": "Wait", "Seconds": 5, "End": True}, Catch=catching("States.ALL")),
                                        B=passing())},
        error="States.Timeout", seconds=1, states="A B0",
    ),
}  # fmt: skip
