import BLE
import BLERecording
import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A recording in a file.
enum RecordingFile {
    /// Reads a recording, or a btsnoop capture.
    static func read(_ path: String) throws -> Recording {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            let number = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
            let reason = number.map { String(cString: strerror($0)) } ?? "\(error)"
            throw BLEError(.recordingFailed, "“\(path)” cannot be read: \(reason)", isRetryable: false)
        }
        do throws(BLEError) {
            return data.starts(with: "btsnoop\0".utf8) ? try Recording(btsnoop: data) : try Recording(lines: data)
        } catch {
            throw BLEError(
                .invalidArgument, "“\(path)”: \(error.message)", isRetryable: false, remedy: error.remedy)
        }
    }

    /// Whether two paths lead to one file.
    static func isSame(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        return stat(one, &first) == 0 && stat(other, &second) == 0 && first.st_ino == second.st_ino
            && first.st_dev == second.st_dev
    }

    /// Writes a recording, or a btsnoop capture if the path ends like that.
    static func write(_ recording: Recording, to path: String) throws {
        if path.hasSuffix(".btsnoop") {
            try recording.writeBTSnoop(to: path)
        } else {
            try recording.write(to: path)
        }
    }
}
