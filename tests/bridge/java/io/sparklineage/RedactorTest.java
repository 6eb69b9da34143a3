package io.sparklineage;

final class RedactorTest {

  private static final Redactor REDACTOR = new Redactor(null, null);

  static void testCredentialsOfUrls() {
    text("jdbc:postgresql://h:5432/db", "jdbc:postgresql://scott:ti:ger@h:5432/db");
    text("s3a://bucket/path", "s3a://AKIA:abc+x@bucket/path");
    text("abfss://container@account.dfs.core.windows.net/x",
        "abfss://container@account.dfs.core.windows.net/x");
    text("http://host:80/?mail=a@b.c", "http://host:80/?mail=a@b.c");
    text("jdbc:oracle:thin:@//h:1521/svc", "jdbc:oracle:thin:scott/tiger@//h:1521/svc");
    text("jdbc:mysql://h/db?user=u&password=***&x=1",
        "jdbc:mysql://h/db?user=u&password=tiger&x=1");
    text("jdbc:sqlserver://h;database=d;password=***;x=1",
        "jdbc:sqlserver://h;database=d;password=ti!ger;x=1");
    text("https://a.blob.core.windows.net/c?sv=1&sig=***",
        "https://a.blob.core.windows.net/c?sv=1&sig=abc%2F");
  }

  static void testSecretsInStatements() {
    sql("CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:x://h', password '***')",
        "CREATE TABLE t USING jdbc OPTIONS (url 'jdbc:x://h', password 'tiger')");
    sql("OPTIONS ('dbtable'='t', 'fs.s3a.secret.key' = '***', \"sfToken\" => \"***\")",
        "OPTIONS ('dbtable'='t', 'fs.s3a.secret.key' = 'ti''ger', \"sfToken\" => \"x\")");
    sql("CREATE USER u IDENTIFIED BY '***' x", "CREATE USER u IDENTIFIED BY 'tiger' x");
    sql("SET spark.x.password=***", "SET spark.x.password=tiger");
    sql("SELECT raise_error('no way: password=***')", "SELECT raise_error('no way: password=tiger')");
    sql("SELECT a FROM t JOIN u ON t.token = u.token WHERE b = 'tiger'",
        "SELECT a FROM t JOIN u ON t.token = u.token WHERE b = 'tiger'");
  }

  static void testLongWordsTakeNoTime() {
    StringBuilder text = new StringBuilder("token ");
    for (int i = 0; i < 60_000; i++) {
      text.append("a'b\"".charAt(i % 997 == 0 ? 1 : 0));
    }
    long begin = System.nanoTime();
    REDACTOR.sql(text.toString());
    REDACTOR.message(text.toString());
    Check.that(System.nanoTime() - begin < 2_000_000_000L, "it took too long");
  }

  static void testLongSecretsNeedNoStack() {
    StringBuilder secret = new StringBuilder();
    for (int i = 0; i < 60_000; i++) {
      secret.append('x');
    }
    sql("OPTIONS (password '***', a 'b')", "OPTIONS (password '" + secret + "', a 'b')");
    sql("OPTIONS (password \"***\")", "OPTIONS (password \"" + secret + "\")");
  }

  static void testASecretCutOffIsStillOne() {
    sql("OPTIONS (password '***'", "OPTIONS (password 'tig");
  }

  static void testSecretsInMessages() {
    Check.equal("no login: password=*** for u", REDACTOR.message("no login: password=tiger for u"));
    Check.equal("{\"access_key\": \"***\"}", REDACTOR.message("{\"access_key\": \"tiger\"}"));
  }

  static void testASchemaStaysJson() {
    text("{\"name\":\"token\",\"type\":\"string\",\"metadata\":{\"password\":\"***\"}}",
        "{\"name\":\"token\",\"type\":\"string\",\"metadata\":{\"password\":\"ti\\\"ger\"}}");
    text("{\"name\":\"x(password=***)\",\"type\":\"string\"}",
        "{\"name\":\"x(password=tiger)\",\"type\":\"string\"}");
  }

  static void testKeys() {
    for (String key :
        new String[] {"password", "fs.s3a.secret.key", "AccessKey", "db.pwd", "apiKey", "X-Token",
            "fs.azure.account.key.x", "awsCredentials"}) {
      Check.equal(Redactor.MASK, REDACTOR.value(key, "tiger"));
    }
    for (String key : new String[] {"path", "url", "dbtable", "keyspace", "header", "primaryKey"}) {
      Check.equal("x", REDACTOR.value(key, "x"));
    }
    Check.equal(Redactor.MASK, new Redactor("(?i)url", null).value("url", "x"));
    Check.equal("a " + Redactor.MASK, new Redactor(null, "tiger\\d").text("a tiger7"));
    Check.equal("x", new Redactor("([", "([").value("path", "x"));
  }

  static void testSqlRedaction() {
    java.util.Map<String, String> conf = new java.util.HashMap<>();
    conf.put("spark.sql.redaction.options.regex", "(?i)url|customer");
    conf.put("spark.sql.redaction.string.regex", "tiger\\d");
    Redactor redactor = Redactor.of(conf);
    Check.equal(Redactor.MASK, redactor.value("customer", "x"));
    Check.equal(Redactor.MASK, redactor.value("proxyUrl", "x"));
    Check.equal("jdbc:x://h/d", redactor.value("url", "jdbc:x://u:p@h/d"));
    Check.equal("a " + Redactor.MASK, redactor.text("a tiger7"));
    Check.equal("SELECT '" + Redactor.MASK + "'", redactor.sql("SELECT 'tiger7'"));
  }

  private static void text(String expected, String text) {
    Check.equal(expected, REDACTOR.text(text));
  }

  private static void sql(String expected, String text) {
    Check.equal(expected, REDACTOR.sql(text));
  }
}
