{#- Tests of privacy models in plain SQL. Each returns the classes that fail, so dbt fails if there are any. -#}

{#- A row whose quasi-identifiers are all * is suppressed: it is in no class. -#}
{% macro incrowd_kept(columns) %}
    not ({% for column in columns %}coalesce(cast({{ column }} as varchar), '') = '*'
    {%- if not loop.last %} and {% endif %}{% endfor %})
{% endmacro %}

{#- Every class has k rows or more. Counts people with person: a column that says whose row it is. -#}
{% test k_anonymous(model, columns, k, person=none) %}
    select {{ columns | join(", ") }},
        {% if person %}count(distinct {{ person }}){% else %}count(*){% endif %} as size
    from {{ model }}
    where {{ incrowd_kept(columns) }}
    group by {{ columns | join(", ") }}
    having {% if person %}count(distinct {{ person }}){% else %}count(*){% endif %} < {{ k }}
{% endtest %}

{#- Every class has l distinct values or more of a sensitive column; a missing value is one of them. -#}
{% test l_diverse(model, columns, sensitive, l) %}
    select {{ columns | join(", ") }},
        count(distinct {{ sensitive }}) + max(case when {{ sensitive }} is null then 1 else 0 end) as diversity
    from {{ model }}
    where {{ incrowd_kept(columns) }}
    group by {{ columns | join(", ") }}
    having count(distinct {{ sensitive }}) + max(case when {{ sensitive }} is null then 1 else 0 end) < {{ l }}
{% endtest %}

{#- At most a share of the rows is suppressed. -#}
{% test few_suppressed(model, columns, share) %}
    select * from (
        select count(*) as total,
            sum(case when {{ incrowd_kept(columns) }} then 0 else 1 end) as suppressed
        from {{ model }}
    ) as counted
    where suppressed > {{ share }} * total or total = 0
{% endtest %}
