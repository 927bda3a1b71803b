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
            return try Recording(lines: data)
        } catch {
            throw BLEError(
                .invalidArgument, "“\(path)”: \(error.message)", isRetryable: false, remedy: error.remedy)
        }
    }

    /// Writes a recording, which only this user can read.
    static func write(_ recording: Recording, to path: String) throws {
        do {
            try recording.lines.write(to: URL(filePath: path))
        } catch {
            throw BLEError(.recordingFailed, "“\(path)” cannot be written", isRetryable: false)
        }
    }
}
