package io.sparklineage;

/** The version of this jar, as its manifest says (the build takes it from the Python package). */
final class Version {

  static final String TEXT = read();

  private Version() {}

  private static String read() {
    Package own = Version.class.getPackage();
    String version = own == null ? null : own.getImplementationVersion();
    return version == null ? "unknown" : version;
  }
}
