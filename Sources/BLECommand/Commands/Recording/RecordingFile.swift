import BLE
import BLERecording
import FoundationEssentials

/// A recording in a file.
enum RecordingFile {
    /// Reads a recording, or a btsnoop capture.
    static func read(_ path: String) throws -> Recording {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw BLEError(.recordingFailed, "“\(path)” cannot be read", isRetryable: false)
        }
        do throws(BLEError) {
            return data.starts(with: "btsnoop\0".utf8) ? try Recording(btsnoop: data) : try Recording(lines: data)
        } catch {
            throw BLEError(
                .invalidArgument, "“\(path)”: \(error.message)", isRetryable: false, remedy: error.remedy)
        }
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
