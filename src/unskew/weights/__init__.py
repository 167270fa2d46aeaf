"""Item weights: from two dates and a policy to weights, what is known about them, and why they are no better.

- `fit_options`: how weights are fitted
- `alignment`: two dates as arrays over the items of one log
- `fit_weights`: the fit itself
- `groups`, `production_agreement`: margins beyond items; `margin_specs`: how they are written;
  `margin_fit`: their fit
- `group_weights`: what they add to the weights of items
- `item_weights`: the weights and what applies them; `weights_file`: the file they are kept in
- `fit_report`: the figures of a fit; `fit_explanation`: the same in words
- `drift`: how the item mix has moved, before anything is weighted; `chance`: how far chance alone moves it
- `mix_charts`: drift and weights as charts
- `bursts`: when it moved in bursts, as likely campaigns; `burst_cells`: the counts behind them
"""
