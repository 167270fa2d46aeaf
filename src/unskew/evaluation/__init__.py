"""Evaluating recommenders: held-out pairs, ranks, scores, and how sure they are.

- `pairs`: which entries are held out; `hold_out`: the profiles that are left
- `folds`: pairs dealt for cross-fitting; `held_out`: what of a pair is left out of a model
- `selection_options`: how pairs are held out
- `pair_selection`: the pairs of one evaluation, chosen once for any number of recommenders
- `ranking`: driving a recommender over pairs; `held_out_ranks`: ranks, to be scored often
- `rank_selection`: from a selection to ranks; `evaluate_one`: and to a score
- `remembered_ranks`: ranks kept for a second use; `work_estimate`: how long it will take, and what is drawn then
- `spark_evaluation`: the same on a cluster; `spark_scores`: of all pairs, `spark_sample`: of pairs drawn there;
  `spark_lists`: whom and what of lists a log there does not have
- `list_dates`: of which recommenders there is no score at a date
- `metric`: how good a rank is, `list_measures`: and how good a list; `score`: the result;
  `score_names`: its kinds in words
- `estimates`, `intervals`, `interval_formulas`: means and what is uncertain about them
- `unit_sums`, `pair_sums`: the sums over users and over pairs that these need, block by block
- `bootstrap`: weights fitted again; `evaluated_users`: whom weights leave in an evaluation
- `independent_units`: users or draws, paired
- `comparison`: recommenders against each other; `changes`: one date against another;
  `profile_cut`: a log cut to the size of another date
- `verdict`: whether a recommender beats another one; `find_verdicts`: the scenarios of a log, scored for it
- `debiased_test_set`: test sets for other libraries
- `evaluate_report`: all of it for one date and a reference, as a `report`
- `averaged_draws`: a report on several draws of a view, averaged
- `verdict`: whether a recommender beats another; `find_verdicts`: the scenarios behind it
- `report`: the object; `results`: lists of results as tables
"""
