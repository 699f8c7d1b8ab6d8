import pyarrow as pa

from platform_figures import Panel
from realloc.world.platform.columns import MEANINGS, feature_names, make_schema


def test_types_are_those_of_logs(three: Panel) -> None:
    types = {field.name: field.type for field in three.logs.table.schema}
    text = pa.dictionary(pa.int32(), pa.string())
    assert types["item_id"] == types["category"] == types["weekday"] == text
    assert types["date"] == pa.date32()
    schema = three.logs.schema
    for name in (*schema.channels, schema.budget, schema.outcome, *schema.guardrails):
        assert name is None or types[name] == pa.float64(), name
    for name in (
        "log_price",
        "orders_lag_1",
        "orders_lag_mean_7",
        "orders_lag_trend_7",
        "share_rebate_prev",
    ):
        assert types[name] == pa.float32(), name
    assert types["exploration"] == types["open_ads"] == pa.bool_()


def test_the_schema_names_every_part() -> None:
    schema = make_schema(("ads", "coupon"))
    assert (schema.unit, schema.time, schema.outcome) == ("item_id", "date", "orders")
    assert (schema.channels, schema.budget) == (("ads", "coupon"), "budget")
    assert (schema.guardrails, schema.propensity) == (("gmv", "income"), "propensity")


def test_every_column_has_a_meaning_and_a_part(three: Panel) -> None:
    names, schema = three.logs.table.column_names, three.logs.schema
    generic = {
        name.replace(channel, "<channel>")
        for name in names
        for channel in schema.channels
        if channel in name
    }
    plain = {
        name for name in names if not any(channel in name for channel in schema.channels)
    }
    assert plain | generic == set(MEANINGS)
    assert set(names) == {
        *schema.fixed_columns,
        *feature_names(schema.channels),
        "exploration",
    }


def test_one_row_per_item_and_day(three: Panel) -> None:
    frame = three.logs.to_pandas()
    assert not frame.duplicated(["item_id", "date"]).any()
    assert frame["date"].nunique() == 60
    assert frame.groupby("item_id").size().eq(60).all()
    assert not frame.drop(columns="propensity").isna().any().any()
