"""After a run: what was found is verified again (`verification`, `recheck`) and explained (`account`, `explain`)."""
