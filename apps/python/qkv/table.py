"""Rows that a notebook shows as a table."""

from html import escape


class Table(list):
    """A list of dicts with the same keys, which are the columns: pandas.DataFrame(table) has them, too."""

    def _repr_html_(self) -> str:
        columns = list(dict.fromkeys(key for row in self for key in row if not isinstance(row[key], list)))
        head = "".join(f"<th>{escape(column)}</th>" for column in columns)
        rows = ("".join(f"<td>{escape(str(row.get(column, '')))}</td>" for column in columns) for row in self)
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
