import BLE
import BLEBackendTesting
import BLERecording
import BLETestSupport
import Testing

/// A backend that is recorded behaves as it does otherwise, and what is recorded can be read again.
@Suite(.hangLimit) struct RecordingContractTests {
    @Test(arguments: BackendContract.selected)
    func contract(_ item: BackendContract) async throws {
        let recorder = Recorder()
        let peer = await SimulatedPeer { backend, configuration in
            try await Central(backend: .recording(backend, to: recorder), configuration: configuration)
        }
        try await item.check(peer)
        let recording = recorder.recording
        #expect(!recording.entries.isEmpty)
        let read = try Recording(lines: recording.lines)
        #expect(read.lines == recording.lines)
        #expect(read.differences(from: recording).isEmpty)
    }
}
