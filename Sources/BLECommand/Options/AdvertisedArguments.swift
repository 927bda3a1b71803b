import ArgumentParser
import BLE
import BLEAssignedNumbers
import BLEProfiles

/// Advertised data on the command line: `owner`, `owner:hex` or `owner:hex/mask`.
private struct DataArgument {
    let owner: Substring
    let pattern: BytePattern

    init?(_ argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        owner = parts[0]
        guard parts.count == 2 else {
            pattern = []
            return
        }
        let halves = parts[1].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map {
            Hex.bytes(String($0))
        }
        guard let bytes = halves[0], halves.count == 1 || halves[1]?.isEmpty == false else { return nil }
        pattern = BytePattern(bytes, mask: halves.count == 1 ? nil : halves[1])
    }
}

/// A company, by its identifier of four digits or its name, with the beginning of the company's data.
struct ManufacturerArgument: ExpressibleByArgument, Sendable {
    let company: UInt16
    let pattern: BytePattern

    init?(argument: String) {
        guard let data = DataArgument(argument) else { return nil }
        if let digits = Hex.bytes(String(data.owner)), digits.count == 2 {
            company = UInt16(digits[0]) << 8 | UInt16(digits[1])
        } else {
            guard let named = Catalog.shown.named(String(data.owner), [.company]).first?.number else { return nil }
            company = named
        }
        pattern = data.pattern
    }
}

/// A service, by UUID or name, with the beginning of the service's data.
struct ServiceDataArgument: ExpressibleByArgument, Sendable {
    let service: BluetoothUUID
    let pattern: BytePattern

    init?(argument: String) {
        guard let data = DataArgument(argument), let service = Catalog.shown.service(String(data.owner))
        else { return nil }
        self.service = service
        pattern = data.pattern
    }
}

/// A transport, by name.
enum TransportArgument: String, ExpressibleByArgument, CaseIterable {
    case le
    case classic
    case any

    var transport: Transport {
        switch self {
        case .le: .le
        case .classic: .classic
        case .any: .any
        }
    }
}
