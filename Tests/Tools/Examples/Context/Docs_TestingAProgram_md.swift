private let device: SimulatedPeripheral = given()
private struct Failure: Error {}
