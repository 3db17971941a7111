"""What a pass over files refuses is said with its place in them."""


def test_a_bad_value(three, refusal, measure):
    def change(rows):
        rows["p"][70] = 1.5

    message = refusal(measure, three(change))
    assert message.startswith("f/1.parquet, rows 64 to 127: ")
    assert "row 70 is 1.5" in message


def test_no_rows_at_all(three, refusal, tmp_path, measure):
    folder = three(lambda rows: None)
    assert refusal(measure, folder, where="age > 1000") == (
        "the 3 files, from f/0.parquet on, have nothing to measure: where='age > 1000' keeps none of the rows"
    )
    (tmp_path / "none.csv").write_text("y,p\n")
    assert refusal(measure, "none.csv") == "none.csv has nothing to measure: there are no rows"
