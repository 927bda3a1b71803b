private enum RobotCommand {
    enum Side { case left, right }
    case rainbow
    case wheel(Side, speed: Double)
}
private struct Robot {
    var status: RobotStatus
    static func nearest(_ central: Central) async throws -> Robot { given() }
    func information() async throws -> DeviceInformation { given() }
    func perform(_ commands: RobotCommand...) async throws {}
}
