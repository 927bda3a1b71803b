import ArgumentParser
import BLE
import BLEDefinitions
import BLETransfers
import FoundationEssentials

/// The peripheral of `ble serve receiver`, which stores what centrals send, and shows the complete files.
struct Receiver: Sendable {
    /// The number of its channel.
    private static let psm: PSM = 0x0081
    /// The maximum number of files that wait to be shown. More are received, and not shown.
    private static let capacity = 1000

    private let peripheral: TransferPeripheral
    private let channel: PSM?
    private let received: AsyncStream<TransferFile>

    /// Creates a receiver that keeps files in memory.
    init() {
        self.init(channel: Self.psm) { onFile in
            MemoryTransferStorage { file, _ in onFile(file) }
        }
    }

    /// Creates a receiver. Throws `ValidationError` if the directory is none.
    ///
    /// - Parameter directory: where files are stored. Nil for memory.
    init(directory: String?, hasChannel: Bool) throws {
        do throws(BLEError) {
            try self.init(channel: hasChannel ? Self.psm : nil) { onFile throws(BLEError) in
                if let directory { return try DirectoryTransferStorage(directory, onFile: onFile) }
                return MemoryTransferStorage { file, _ in onFile(file) }
            }
        } catch {
            throw ValidationError("\(error.message).")
        }
    }

    private init<Failure: Error>(
        channel: PSM?, _ storage: (@escaping @Sendable (TransferFile) -> Void) throws(Failure) -> any TransferStorage
    ) throws(Failure) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TransferFile.self, bufferingPolicy: .bufferingOldest(Self.capacity))
        received = stream
        peripheral = TransferPeripheral(try storage { continuation.yield($0) })
        self.channel = channel
    }

    func definition(name: String) -> PeripheralDefinition { peripheral.definition(name: name, channel: channel) }

    /// Shows the files that arrive.
    func show(_ output: Output) async throws {
        for await file in received {
            let digits = String(file.checksum, radix: 16)
            let checksum = String(repeating: "0", count: 8 - digits.count) + digits
            try output.line(
                .object([
                    "event": .string("received"), "name": .string(file.name), "bytes": .int(file.length),
                    "checksum": .string(checksum),
                ]), "received \(file.name.harmless), \(file.length) bytes, CRC-32 \(checksum)")
        }
    }
}
