#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#elseif canImport(Darwin)
    internal import Darwin
#endif

/// Descriptions of Foundation's errors, without domains and numbers.
enum FileError {
    /// Returns the reason that an error gives, such as `No such file or directory`.
    static func reason(for error: any Error) -> String {
        switch error {
        case let error as DecodingError: reason(for: error)
        case let error as CocoaError: reason(for: error)
        case let error as POSIXError: text(of: error.code.rawValue)
        default: "\(error)"
        }
    }

    private static func reason(for error: CocoaError) -> String {
        if let code = (error.underlying as? POSIXError)?.code.rawValue { return text(of: code) }
        if let description = error.userInfo["NSDebugDescription"] as? String { return description }
        return switch error.code {
        case .fileReadNoSuchFile, .fileNoSuchFile: text(of: ENOENT)
        case .fileReadNoPermission, .fileWriteNoPermission: text(of: EACCES)
        case .fileWriteOutOfSpace: text(of: ENOSPC)
        default: "the file cannot be read or written"
        }
    }

    private static func reason(for error: DecodingError) -> String {
        switch error {
        case .dataCorrupted(let context):
            context.underlyingError.map { reason(for: $0) } ?? context.debugDescription
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context):
            context.debugDescription
        @unknown default: "the content cannot be decoded"
        }
    }

    private static func text(of code: Int32) -> String { String(cString: strerror(code)) }
}
