// The exception types of the project. Inside a process faults are exceptions; at the process edge
// they become a Status in a message or one of the exit codes of exit_codes.h. Thread-safe: value
// types only. No JSON, logging or vendor header is included here.
#pragma once

#include "ditar/config/exit_codes.h"

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ditar {

/// Base of every exception thrown by the project. what() is "message [file:line]"; message() is the
/// text for a person alone, one sentence that names the place and the mend.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string message, ExitCode exit_code = ExitCode::kFailure,
                 std::source_location where = std::source_location::current());

  const std::string& message() const noexcept { return message_; }
  /// The exit code a program ends with when this error reaches main().
  ExitCode exit_code() const noexcept { return exit_code_; }

 private:
  std::string message_;
  ExitCode exit_code_;
};

/// A value given by the caller or the user is not acceptable.
class InvalidArgument : public Error {
 public:
  explicit InvalidArgument(std::string message,
                           std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kUsage, where) {}
};

/// A settings file is malformed; the text holds file, line and the nearest valid key.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::string message,
                       std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kConfig, where) {}
};

/// Data read from disk (weights, ledger, images) is damaged or not what it claims to be.
class DataError : public Error {
 public:
  explicit DataError(std::string message,
                     std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kData, where) {}
};

/// The operating system refused a read, write, lock or spawn.
class IoError : public Error {
 public:
  explicit IoError(std::string message,
                   std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kIo, where) {}
};

/// Something the command needs is missing on this machine (tool, library, GPU).
class Unavailable : public Error {
 public:
  explicit Unavailable(std::string message,
                       std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kUnavailable, where) {}
};

/// A peer broke the wire contract, or the connection was lost.
class TransportError : public Error {
 public:
  explicit TransportError(std::string message,
                          std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kProtocol, where) {}
};

/// A deadline passed.
class TimeoutError : public Error {
 public:
  explicit TimeoutError(std::string message,
                        std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kTemporary, where) {}
};

/// Host or device memory is not enough; the text states what was asked and what there is.
class OutOfMemory : public Error {
 public:
  explicit OutOfMemory(std::string message,
                       std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kTemporary, where) {}
};

/// An MPI call failed.
class MpiError : public Error {
 public:
  explicit MpiError(std::string message,
                    std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kTemporary, where) {}
};

/// A CUDA runtime, cuBLAS(Lt) or NCCL call failed; the text holds the expression, the vendor's name
/// of the code, rank and device.
class CudaError : public Error {
 public:
  explicit CudaError(std::string message,
                     std::source_location where = std::source_location::current())
      : Error(std::move(message), ExitCode::kTemporary, where) {}
};
// Spelled out, not inherited: nvcc 13 fails on inherited constructors with a source_location
// default.
class CublasError : public CudaError {
 public:
  explicit CublasError(std::string message,
                       std::source_location where = std::source_location::current())
      : CudaError(std::move(message), where) {}
};
class NcclError : public CudaError {
 public:
  explicit NcclError(std::string message,
                     std::source_location where = std::source_location::current())
      : CudaError(std::move(message), where) {}
};

/// Throws InvalidArgument with `message` unless `condition` holds.
inline void require(bool condition, std::string_view message,
                    std::source_location where = std::source_location::current()) {
  if (!condition) throw InvalidArgument(std::string(message), where);
}

}  // namespace ditar
