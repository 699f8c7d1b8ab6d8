import numpy as np

from platform_figures import Panel
from realloc.world.platform.demand import look_back


def test_look_back_reads_the_seven_days() -> None:
    history = np.array([[1.0], [2.0], [3.0], [4.0], [10.0], [11.0], [12.0]])
    past = look_back(history)
    assert past.last.tolist() == [12.0]
    assert np.allclose(past.mean, 43 / 7)
    assert np.allclose(past.trend, 11 - 2.5)


def test_lag_columns_are_the_log_of_the_days_before(two: Panel) -> None:
    days, items = 60, len(two.logs) // 60
    orders = two.column("orders").reshape(days, items)
    lag = two.column("orders_lag_1").reshape(days, items)
    mean = two.column("orders_lag_mean_7").reshape(days, items)
    trend = two.column("orders_lag_trend_7").reshape(days, items)
    for day in (7, 30, 59):
        week = orders[day - 7 : day]
        assert np.allclose(lag[day], week[-1], atol=1e-6)
        assert np.allclose(mean[day], week.mean(axis=0), atol=1e-6)
        assert np.allclose(
            trend[day], week[-3:].mean(axis=0) - week[:4].mean(axis=0), atol=1e-6
        )


def test_budgets_follow_recent_sales_within_an_item(two: Panel) -> None:
    budget = np.log(two.column("budget")).reshape(60, -1)
    sales = two.column("orders_lag_mean_7").reshape(60, -1)
    budget, sales = budget - budget.mean(axis=0), sales - sales.mean(axis=0)
    slope = (budget * sales).sum() / np.square(sales).sum()
    error = two.market.parameters.budgets.noise_sd / np.sqrt(np.square(sales).sum())
    # Cents are rounded, and the item means of 60 days are estimated too: a little slack on five
    # standard errors.
    assert abs(slope - two.market.parameters.budgets.chase) < 5 * error + 0.005


def test_sales_have_a_week_and_a_trend(two: Panel) -> None:
    truth = two.market.response(two.state, two.before)["orders"].reshape(60, -1)
    category = two.codes("category").reshape(60, -1)[0]
    largest = truth[:, category == 0].mean(axis=1)
    weekly = np.array([largest[day::7].mean() for day in range(7)])
    assert np.ptp(weekly) > two.market.parameters.catalogue.weekly_amplitude
    slope = truth[-14:].mean(axis=0) - truth[:14].mean(axis=0)
    assert slope.std() > 0.2
