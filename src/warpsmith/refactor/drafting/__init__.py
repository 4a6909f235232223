"""A template in the making: `draft` holds the forms, `application` lets passes add some, `merge` makes them one source."""
