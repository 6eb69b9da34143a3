package io.sparklineage;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The driver's log; never throws. Stateless. */
final class Log {

  private static final Logger LOGGER = LoggerFactory.getLogger(LineagePlugin.class);

  private Log() {}

  static void info(String message) {
    LOGGER.info(message);
  }

  static void warn(String message) {
    LOGGER.warn(message);
  }

  static void debug(String message, Throwable e) {
    LOGGER.debug(message, e);
  }
}
