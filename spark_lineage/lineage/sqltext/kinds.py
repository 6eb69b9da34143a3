"""Which functions of other engines' SQL hide, count, aggregate, rank, or come from the engine."""

from __future__ import annotations

from typing import Final

from sqlglot import exp


def _types(*names: str) -> tuple[type[exp.Expression], ...]:
    """Those of these classes that this version of sqlglot has."""
    return tuple(getattr(exp, name) for name in names if hasattr(exp, name))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Hashes, checksums, encryption; names lower case without underscores.
MASKING: Final = _words(
    """md5 md5hex md5binary md5digest md5numberlower64 md5numberupper64 sha sha1 sha1hex
    sha1binary sha1digest sha2 sha2hex sha2binary sha2digest sha224 sha256 sha384 sha512 hashbytes
    checksum binarychecksum crc32 crc32c crc64 adler32 standardhash orahash dbmscrypto.hash digest
    crypt hmac hmacmd5 hmacsha1 hmacsha256 hmacsha512 encrypt encryptraw pgpsymencrypt
    pgppubencrypt aesencrypt encryptbykey encryptbypassphrase encryptbycert desencrypt hash hashmd5
    hashsha1 hashsha256 hashrow cityhash64 siphash64 siphash128 halfmd5 xxhash32 xxhash64
    murmurhash232 murmurhash264 murmurhash332 murmurhash364 murmurhash3128 murmur3hash fnvhash
    farmfingerprint farmhash64 metrohash64 inthash32 inthash64 spookyhashv232 spookyhashv264
    hashtext hashtextextended hashint4 hashbigint mask maskinner maskouter password
    strtosha256"""
)

#: Aggregates that sqlglot does not know as such.
AGGREGATES: Final = _words(
    """stringagg listagg wmconcat groupconcat jsonagg jsonbagg jsonobjectagg jsonbobjectagg
    jsonarrayagg xmlagg everyagg every boolor booland bitand_agg bitor_agg bitandagg bitoragg
    bitxoragg regrslope regrintercept regrr2 regravgx regravgy regrsxx regrsyy regrsxy
    arrayconcatagg rangeagg rangeintersectagg checksumagg median mode stdev stdevp varp geomean
    arrayuniqueagg mapagg multimapagg mapunion histogram numerichistogram approxsetunion
    qdigestagg tdigestagg setagg setunion objectagg arbitrary anyvalue kurtosis skewness skew
    entropy avgweighted topk toparray xmlconcatagg"""
)
COUNTS: Final = _words(
    """count countbig countif approxcountdistinct approxdistinct hll uniq uniqexact uniqcombined
    uniqhll12 uniqtheta regrcount countdistinct approximatecount ndv countequal"""
)

#: The engine, the clock or chance makes the value.
SYSTEM: Final = _words(
    """now sysdate systimestamp getdate getutcdate sysdatetime sysutcdatetime sysdatetimeoffset
    clocktimestamp statementtimestamp transactiontimestamp curdate curtime utcdate utctime
    utctimestamp currentdate currenttime currenttimestamp localtime localtimestamp currentdatetime
    today rand random randcanonical newid newsequentialid uuid genrandomuuid uuidgeneratev4
    generateuuidv4 sysguid uuidstring generateuuid nextval currval lastval rowversion user
    currentuser sessionuser systemuser username currentschema currentdatabase currentcatalog
    currentrole currentwarehouse currentaccount dbname database version pgbackendpid txidcurrent
    connectionid lastinsertid rownumberinallblocks seq1 seq2 seq4 seq8 hostname
    scopeidentity getansinull timeofday unixtimestampnow nextvaluefor"""
)
#: Columns that no table has; lower case, by dialect.
PSEUDO: Final = {
    "oracle": frozenset({"rownum", "level", "rowid", "sysdate", "systimestamp", "user", "uid",
                         "ora_rowscn", "connect_by_isleaf", "connect_by_iscycle"}),
    "postgres": frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "current_user",
                           "session_user", "user"}),
    "sqlite": frozenset({"rowid", "oid", "_rowid_"}),
    "": frozenset({"rownum", "sysdate", "user", "session_user"}),
    "bigquery": frozenset({"_partitiontime", "_partitiondate", "_table_suffix"}),
}  # fmt: skip

#: Functions in SELECT that make rows; lower case without underscores.
GENERATORS: Final = _words(
    """explode explodeouter posexplode posexplodeouter inline unnest flatten generateseries
    explodinggenerateseries jsonbarrayelements jsonarrayelements jsonbarrayelementstext
    jsonarrayelementstext jsonbeach jsoneach jsonbeachtext jsoneachtext jsonbobjectkeys
    jsonobjectkeys regexpsplittotable regexpmatches stringtotable arrayjoin"""
)

#: Ranking and navigation: a value, no aggregate, also where sqlglot calls them one.
WINDOW_ONLY: Final = _types(
    "RowNumber", "Rank", "DenseRank", "PercentRank", "CumeDist", "Ntile", "Lag", "Lead",
    "FirstValue", "LastValue", "NthValue",
)  # fmt: skip
#: Those whose value the rows make, not an argument.
RANKING: Final = _types("RowNumber", "Rank", "DenseRank", "PercentRank", "CumeDist", "Ntile")
WINDOW_NAMES: Final = _words(
    """rownumber rank denserank percentrank cumedist ntile lag lead firstvalue lastvalue nthvalue
    ratiotoreport"""
)
#: The second argument says only which value of the first is taken.
VALUE_BY: Final = _types("ArgMax", "ArgMin")
VALUE_BY_NAMES: Final = frozenset({"maxby", "minby", "argmax", "argmin"})

#: Dialects in which ``a.b`` may be a field of the column ``a``.
NESTED: Final = _words(
    "bigquery trino presto athena clickhouse databricks spark hive duckdb dremio"
)
#: Dialects in which an item of SELECT may refer to an earlier one by its alias.
LATERAL_ALIASES: Final = _words("snowflake redshift teradata clickhouse databricks duckdb")
#: Dialects in which WITH is recursive without the word.
SILENT_RECURSION: Final = frozenset({"tsql", "fabric", "oracle", "", "teradata"})
