-- One expression a line: Spark SQL that must pass through the parser without a change of meaning.
-- Columns: a, b, i INT; d DOUBLE; s, t STRING; p, q BOOLEAN; ts TIMESTAMP; dt DATE;
-- xs ARRAY<INT>; m MAP<STRING, INT>; r STRUCT<x: INT, y: STRING>.
1
1L
-1L
-128Y
-9223372036854775808
-9223372036854775808L
- 5::BIGINT
1S
2Y
1.1D
1.1F
1.5BD
.5
5.
1e5
1E-3
1.10
99999999999999999999
TRUE
null
'plain'
"double"
'it''s'
"say ""so"""
'a' 'b'
'line\nbreak\ttab'
'back\\slash and \'quote\''
'\%x\_y'
'\u0041\101\Z\0'
'\q\a'
r'\d+\n'
R"it's"
'héllo ☃'
''
X'1F'
DATE '2020-01-02'
TIMESTAMP '2020-01-02 03:04:05.678'
TIMESTAMP_NTZ '2020-01-02 03:04:05'
INTERVAL '10' SECOND
INTERVAL 10 SECONDS
INTERVAL -1 DAY
INTERVAL '1 day 2 hours'
CAST(INTERVAL '1-2' YEAR TO MONTH AS STRING)
INTERVAL '1 02:03:04' DAY TO SECOND
ts - INTERVAL 1 DAY 2 HOURS
ts + INTERVAL '1.5 seconds'
-INTERVAL 1 DAY
INTERVAL 1 DAY * 2
CAST('12' AS INT)
TRY_CAST(s AS DECIMAL(10,2))
i::string
i::string::int
-i::bigint
CAST(s AS VARCHAR(2))
CAST('2020-01-02' AS DATE)
CAST(i AS LONG)
CAST(i AS BYTE)
CAST(i AS SHORT)
CAST(i AS REAL)
CAST(i AS DEC(5, 1))
CAST(i AS NUMERIC(5))
CAST(ts AS TIMESTAMP_NTZ)
CAST(xs AS ARRAY<STRING>)
CAST(m AS MAP<STRING, BIGINT>)
CAST(r AS STRUCT<x: BIGINT, y: STRING>)
CAST(s AS BINARY)
CASE WHEN p THEN 1 ELSE 2 END
CASE WHEN p THEN 1 WHEN q THEN 2 END
CASE i WHEN 1 THEN 'a' ELSE 'b' END
EXTRACT(YEAR FROM ts)
extract(day from ts)
s LIKE 'x%'
s NOT LIKE 'x/%' ESCAPE '/'
s LIKE ANY ('a%', 'b%')
s NOT LIKE ALL ('a%', 'b%')
s ILIKE 'X%'
s RLIKE '\\d+'
s REGEXP 'x'
s NOT RLIKE 'x'
s LIKE 'a' || 'b'
i BETWEEN 1 AND 2
i NOT BETWEEN 1 AND 2 AND p
i BETWEEN a + 1 AND b * 2 OR q
i IN (1, 2)
i NOT IN (1, 2)
(a, b) IN ((1, 2), (3, 4))
i = 3 IN (TRUE)
p = q IS NULL
r.x
r.y || s
xs[0]
xs[0] + xs[1]
m['k']
array(r)[0].x
named_struct('k', 5).k
transform(xs, x -> x + 1)
aggregate(xs, 0, (x, y) -> x + y)
filter(xs, x -> x > 1 AND x < 9)
exists(xs, x -> x = 1)
if(p, a, b)
left(s, 2)
right(s, 2)
map('a', 1)
array(1, 2)
struct(a, b AS c)
struct(a AS `x y`)
date('2020-01-02')
timestamp('2020-01-02')
int('5')
string(5)
double('1.5')
boolean('true')
decimal('3')
bigint(i)
trim(s)
trim(BOTH 'x' FROM s)
trim(LEADING 'x' FROM s)
trim(TRAILING FROM s)
trim('x' FROM s)
substring(s, 1, 2)
substring(s FROM 1 FOR 2)
substr(s FROM 2)
position('a' IN s)
position('a', s)
overlay(s PLACING 'z' FROM 1 FOR 2)
ceil(d)
floor(d, 1)
a <=> b
a == b
a != b
!p
NOT a = b
! a = b
NOT NOT p
p AND NOT q OR p
a DIV 2
a % 3
s || t || 'c'
a - b || s
'1' || a + 1
~a
-a
+a
- -a
a ^ b
a & b | 4
1 | 2 & 1 ^ 3
a << 1 + 2
a >> 1
a >>> 1
a << 1 + 2 & 7
-5 >>> 28 >> 1
-a ^ b
a = b < q
a + 1 < b * 2 = p
a IS DISTINCT FROM b
a IS NOT DISTINCT FROM b
p IS DISTINCT FROM a = b
p IS NOT DISTINCT FROM a = b
a IS NULL
a IS NOT NULL
p IS TRUE
p IS NOT FALSE
p IS UNKNOWN
timestampadd(HOUR, 1, ts)
timestampdiff(MINUTE, ts, ts)
dateadd(day, 1, dt)
datediff(dt, dt)
date_add(dt, 1)
date_trunc('hour', ts)
trunc(dt, 'MM')
nvl(a, b)
coalesce(a, b, 3)
nullif(a, b)
decode(a, 1, 2)
concat(s, t)
concat_ws(',', s, t)
log(2, d)
ln(d)
split(s, ',')
get_json_object('{"x": 1}', '$.x')
regexp_extract(s, '(\\d+)', 1)
to_date('2020-01-02', 'yyyy-MM-dd')
unix_timestamp(ts)
array_contains(xs, 1)
sequence(1, 5)
replace(s, 'x', 'y')
char(65)
chr(65)
initcap(s)
hash(a)
year(ts)
Day(ts)
to_timestamp('2020-01-02 03:04:05')
from_utc_timestamp(ts, 'Asia/Tokyo')
element_at(xs, 1)
try_element_at(xs, 7)
try_add(a, b)
slice(xs, 1, 2)
array_sort(xs)
s COLLATE UTF8_LCASE
date_format(ts, 'yyyy-MM')
`a` + `b`
((a + b)) * 2
