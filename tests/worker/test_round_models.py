"""Each round's model on its way to the bucket."""

from pathlib import Path

from tutti_worker.round_models import RoundModels


class Shelf:
    """Refuses some rounds as often as it is told."""

    def __init__(self, refuses: dict[int, int]) -> None:
        self.refuses, self.stored, self.warnings = refuses, list[int](), list[str]()

    def put(self, path: Path, number: int) -> None:
        path.read_bytes()
        if self.refuses.get(number, 0):
            self.refuses[number] -= 1
            raise ValueError("no room")
        self.stored.append(number)

    def warn(self, code: str, sentence: str) -> None:
        self.warnings.append(f"{code}: {sentence}")


def uploaded(folder: Path, shelf: Shelf, rounds: int) -> None:
    models = RoundModels(folder, shelf.put, shelf.warn)
    models.start()
    for number in range(rounds):
        (folder / f"round_{number}.pt").write_bytes(b"model")
        models.add(number)
    models.finish()
    models.finish()


def test_a_round_that_could_not_be_stored_is_tried_again_at_the_end_and_stops_no_other(tmp_path: Path) -> None:
    shelf = Shelf({0: 1})
    uploaded(tmp_path, shelf, 3)
    assert (shelf.stored, shelf.warnings) == ([1, 2, 0], [])


def test_a_round_that_is_never_stored_is_warned_of(tmp_path: Path) -> None:
    shelf = Shelf({1: 2})
    uploaded(tmp_path, shelf, 3)
    assert shelf.stored == [0, 2]
    assert shelf.warnings == ["round_model_missing: the model of round 2 could not be stored: no room"]
    assert (tmp_path / "round_1.pt").exists()


def test_the_disk_holds_only_the_newest_stored_models(tmp_path: Path) -> None:
    uploaded(tmp_path, Shelf({}), 6)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["round_4.pt", "round_5.pt"]
