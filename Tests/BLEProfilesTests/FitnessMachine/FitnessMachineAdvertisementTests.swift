import BLE
import BLEProfiles
import Testing

@Suite struct FitnessMachineAdvertisementTests {
    @Test(
        arguments: [
            ([0x01, 0x20, 0x00], FitnessMachineAdvertisement(kinds: .indoorBike), "indoorBike"),
            ([0x00, 0x01, 0x00], FitnessMachineAdvertisement(isAvailable: false, kinds: .treadmill), "treadmill"),
            (
                [0x01, 0x1E, 0x00],
                FitnessMachineAdvertisement(kinds: [.crossTrainer, .stepClimber, .stairClimber, .rower]),
                "crossTrainer, stepClimber, stairClimber, rower"
            ),
            ([0x01, 0x00, 0x80], FitnessMachineAdvertisement(kinds: .init(rawValue: 0x8000)), "0x8000"),
        ] as [([UInt8], FitnessMachineAdvertisement, String)])
    func `a machine says whether it is free, and what it is`(
        _ data: [UInt8], _ machine: FitnessMachineAdvertisement, _ kinds: String
    ) throws {
        let advertisement = Advertisement(serviceData: [.fitnessMachine: data])
        #expect(try FitnessMachineAdvertisement.decode(advertisement) == machine)
        #expect(try machine.advertisement() == advertisement)
        #expect("\(machine.kinds)" == kinds)
    }

    @Test func `reserved flags are ignored`() throws {
        let advertisement = Advertisement(serviceData: [.fitnessMachine: [0xFE, 0x10, 0x00]])
        #expect(
            try FitnessMachineAdvertisement.decode(advertisement)
                == FitnessMachineAdvertisement(isAvailable: false, kinds: .rower))
    }

    @Test func `other data are not a machine's`() throws {
        #expect(try FitnessMachineAdvertisement.decode(Advertisement(serviceUUIDs: [.fitnessMachine])) == nil)
        #expect(try FitnessMachineAdvertisement.decode(Advertisement(serviceData: [.battery: [1, 1, 0]])) == nil)
    }

    @Test(arguments: [[], [1], [1, 0x20], [1, 0x20, 0, 0]] as [[UInt8]])
    func `data of another length is an error`(_ data: [UInt8]) {
        #expect(throws: AdvertisementFormatError("fitness machine", .invalidLength(data.count))) {
            try FitnessMachineAdvertisement.decode(Advertisement(serviceData: [.fitnessMachine: data]))
        }
    }
}
