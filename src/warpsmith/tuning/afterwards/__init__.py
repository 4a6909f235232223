"""After a run: results are verified again (`verification`, `recheck`) and explained (`account`, `explain`)."""
